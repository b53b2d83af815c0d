"""Query players: the only players that face the truth."""

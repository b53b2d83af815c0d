"""Private learning: a readable rule that predicts a label, chosen from a class of queries by a private mechanism."""

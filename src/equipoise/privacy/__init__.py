"""The private side: the only code that opens true counts, and what every look costs.

Import contracts (pyproject.toml) keep the public side (core, data, queries, data_players, report) from reaching it.
"""

from equipoise.privacy.private import Private

__all__ = ["Private"]

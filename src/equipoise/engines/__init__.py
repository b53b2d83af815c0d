"""Counting on the real table: the only readers of private rows."""

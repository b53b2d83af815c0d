"""Checking a release without trusting the code that made it: an accountant of its own, hashes, a published schema."""

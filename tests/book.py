"""Where tests look for the ledger run that lives in memory."""

from equipoise.audit.book import MemoryBook

__all__ = ["MemoryBook"]

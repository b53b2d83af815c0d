"""Audits: what a release really tells of one record, measured against what the ledger was charged for it."""

"""One file a migration. Never change one that was released: add another."""

"""Classes of queries with separators, and what minimises a weighted sum over such a class, with a certificate."""

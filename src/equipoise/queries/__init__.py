"""Queries and workloads: what a release is asked, how it is answered, and how sensitive the answers are."""

"""Benchmarks on public data, against peers; not part of a release."""

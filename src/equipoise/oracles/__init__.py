"""Optimisation oracles: the record that maximises a sum of weighted conjunctions. Public side: sees no truth."""

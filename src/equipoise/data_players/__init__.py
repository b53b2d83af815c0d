"""Data players: they repair the synthetic data from the moves alone. Post-processing, so free of privacy cost."""

"""Other packages beside ours: the same table, workload, budget and neighbours, each in its own environment."""

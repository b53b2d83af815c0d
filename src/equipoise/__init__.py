"""Private synthetic data and private answers from a sensitive table."""

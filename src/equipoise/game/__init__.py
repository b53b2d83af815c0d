"""The game: the loop of the two players, and what its moves say about the error."""

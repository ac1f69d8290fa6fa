"""The fairness test: the only reader of the sealed half, and all that its certificate says."""

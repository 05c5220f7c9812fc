"""What a fitted model has found in its data, as data: `analyse` builds it, each family has a file of its own."""

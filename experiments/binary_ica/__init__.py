"""Published results of binary ICA, one file a table or figure."""

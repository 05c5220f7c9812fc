"""Published results of the ICA mixture, one file a table or figure."""

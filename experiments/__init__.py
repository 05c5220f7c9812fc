"""Published tables and figures, reproduced; README.md tells how one is written, RESULTS.md what came out."""

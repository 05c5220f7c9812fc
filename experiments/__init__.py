"""Published tables and figures, reproduced; README.md describes how one is written, RESULTS.md has the results."""

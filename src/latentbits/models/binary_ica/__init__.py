"""Independent components of binary data that change from segment to segment, and tetrachoric correlations."""

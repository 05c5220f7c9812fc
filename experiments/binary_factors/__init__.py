"""Binary factor analysis on the experiments of its paper (Tu and Xu, Neurocomputing 2014)."""

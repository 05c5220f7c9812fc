"""Binary factor analysis: continuous data as sums of causes that are there or not, with Gaussian noise."""

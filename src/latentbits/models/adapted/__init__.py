"""scikit-learn's factorisations behind this library's interface, to be compared with its own models."""

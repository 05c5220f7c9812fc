"""Tasks across models: selection of the number of components, comparison of models, stability of components."""

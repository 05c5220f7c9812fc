"""Questions across models: how many components, which model, how stable an answer is."""

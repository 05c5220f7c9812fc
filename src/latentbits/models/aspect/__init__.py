"""The aspect family: every cell of a row picks its own cause from the row's mixture of components."""

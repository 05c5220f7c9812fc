"""One folder per family: the mathematics as pure functions over a named state, and estimators on top."""

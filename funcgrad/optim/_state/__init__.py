"""The state of an optimizer and its hyperparameters, as immutable pytrees."""

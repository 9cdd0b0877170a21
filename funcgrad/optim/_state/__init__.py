"""What an optimizer carries from step to step, and its hyperparameters, as immutable pytrees."""

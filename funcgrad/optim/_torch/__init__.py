"""PyTorch's optimizer classes: parameter groups, hooks, checkpoints."""

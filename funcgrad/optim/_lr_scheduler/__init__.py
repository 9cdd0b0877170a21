"""PyTorch's schedulers of learning rates: classes that write to the groups of an optimizer."""

"""The tape that all tensors are on, its nodes, and passes over it."""

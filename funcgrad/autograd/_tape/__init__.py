"""The tape of all tensors, its nodes, and passes over it."""

"""Methods of tensors, by name."""

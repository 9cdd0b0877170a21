"""The memory that tensors share: views of it, and writes to it."""

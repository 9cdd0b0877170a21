"""The transforms: each takes a function and returns a function."""

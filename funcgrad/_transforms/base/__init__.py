"""The base of all transforms: arguments, staged bodies, and one way to record."""

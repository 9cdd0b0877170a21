"""Graphs as files of NumPy that need nothing of this package."""

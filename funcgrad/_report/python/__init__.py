"""Write graphs as Python files that need NumPy and nothing of this package."""

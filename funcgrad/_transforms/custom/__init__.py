"""Functions with rules of their own, black boxes and implicit roots."""

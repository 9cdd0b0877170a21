"""Functions with their own derivative rules, black boxes and implicit roots."""

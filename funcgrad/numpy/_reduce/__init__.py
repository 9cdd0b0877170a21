"""Functions along axes."""

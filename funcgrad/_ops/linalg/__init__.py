"""Dense linear algebra."""

"""What makes a tracer an array."""

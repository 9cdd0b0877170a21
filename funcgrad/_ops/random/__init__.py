"""Random bits from keys, and the samplers that are loops."""

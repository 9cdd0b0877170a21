"""Random bits from keys, and samplers that are loops."""

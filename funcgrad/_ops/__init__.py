"""The primitives, each declared whole in one place; an operation and its transpose share a file."""

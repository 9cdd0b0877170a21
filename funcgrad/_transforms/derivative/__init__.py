"""Derivatives: forward mode, reverse mode, and higher orders."""

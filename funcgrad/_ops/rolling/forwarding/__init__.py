"""Reads of rows that were written become the rows; chains of updates become one write."""

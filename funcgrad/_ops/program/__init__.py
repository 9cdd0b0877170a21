"""Primitives that hold programs, and what keeps programs apart."""

from funcgrad._ops.program import rules as rules

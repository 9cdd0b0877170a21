"""Row-sparse gradients."""

from funcgrad._ops.rows import Rows

__all__ = ["Rows"]

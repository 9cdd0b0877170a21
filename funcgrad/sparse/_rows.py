"""Row-sparse gradients. The stub of this package may only name modules of its own."""

from funcgrad._ops.index.rows import Rows

__all__ = ["Rows"]

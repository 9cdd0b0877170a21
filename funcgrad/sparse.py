"""Row-sparse gradients."""

from funcgrad._ops.index.rows import Rows
from funcgrad._public import publish

__all__ = ["Rows"]

__dir__ = publish(__name__)

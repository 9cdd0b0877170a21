"""The type of traced arrays under autograd's name, for ``isinstance``."""

from funcgrad._core.bind import Tracer
from funcgrad._public import publish

__all__ = ["ArrayBox"]

ArrayBox = Tracer

__dir__ = publish(__name__)

"""Names for other rooms of the library, besides the public ones. Other rooms import no other internals of this room."""

from funcgrad._public import publish
from funcgrad.random._staged import DrawCheck

__all__ = ["DrawCheck"]

__dir__ = publish(__name__)

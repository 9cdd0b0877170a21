"""Names for other rooms of the library, besides the public ones. Other rooms import no other internals of this room."""

from funcgrad._public import publish
from funcgrad.tree._flatten import Level, one_level
from funcgrad.tree._flax import COMPLETED, EARLIER
from funcgrad.tree._key import set_key, static_key, static_test
from funcgrad.tree._register import dataclass_fields

__all__ = [
    "COMPLETED",
    "EARLIER",
    "Level",
    "dataclass_fields",
    "one_level",
    "set_key",
    "static_key",
    "static_test",
]

__dir__ = publish(__name__)

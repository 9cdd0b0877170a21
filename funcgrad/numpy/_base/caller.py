"""The code of another library that asks for an array, or calls a replaced function.

``__array__``, ``__jax_array__`` and a function that ``fg.intercept`` has replaced are called without a word about the
caller, and only its frame tells which one it is. This module is the only one of the NumPy room that reads frames. It is
used for callers in NumPy, SciPy, JAX, PyTorch and Numba, which have no hook, and for messages. What a function of a
user's is called never decides anything.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Iterator
from types import CodeType, FrameType

from funcgrad._core.tracebacks import scipys_name

# From Python 3.14 on, an index is an operator of BINARY_OP, identified by the argument.
_SUBSCRIPTS = {opcode.opmap.get(name) for name in ("BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR")}
_OPERATOR = opcode.opmap["BINARY_OP"]
_OPERATORS = [name for name, *_ in getattr(opcode, "_nb_ops", ())]
_SUBSCRIPT_ARGUMENT = _OPERATORS.index("NB_SUBSCR") if "NB_SUBSCR" in _OPERATORS else None
_STORE = opcode.opmap["STORE_SUBSCR"]


class Caller:
    """A function that is calling one of ours.

    Args:
        frame: its frame.
    """

    __slots__ = ("_frame",)

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    @property
    def module(self) -> str:
        """The name of the module that the function belongs to; empty if it has none."""
        return str(self._frame.f_globals.get("__name__", ""))

    @property
    def function(self) -> str:
        """The name of the function."""
        return self._frame.f_code.co_name

    @property
    def code(self) -> CodeType:
        """The code of the function. It distinguishes NumPy's own function from a user's of the same name."""
        return self._frame.f_code

    @property
    def is_example(self) -> bool:
        """Whether the code is an example of a docstring, which has the name of the module that contains it."""
        return self.code.co_filename.startswith("<doctest")

    @property
    def at_write(self) -> bool:
        """Whether the function is at ``array[i] = value``."""
        return self.code.co_code[self._frame.f_lasti] == _STORE

    @property
    def at_index(self) -> bool:
        """Whether the function is at ``array[i]``, which it reads, writes or deletes."""
        operation, argument = self.code.co_code[self._frame.f_lasti : self._frame.f_lasti + 2]
        return operation in _SUBSCRIPTS or (operation == _OPERATOR and argument == _SUBSCRIPT_ARGUMENT)

    @property
    def scipys(self) -> tuple[str, str] | None:
        """The public module and name of SciPy's function; ``None`` if it is another."""
        return scipys_name(self._frame)

    def outwards(self, *packages: str) -> Iterator[Caller]:
        """Yield this function, the one that called it, and so on, as far as they are in modules that begin so."""
        caller = self
        while caller.module.startswith(packages):
            yield caller
            if caller._frame.f_back is None:
                return
            caller = Caller(caller._frame.f_back)


def caller() -> Caller:
    """Return the function that called the function which calls this one."""
    return Caller(sys._getframe(2))


def asking(replacements: str) -> Caller:
    """Return the function that asked the caller for an array; a replacement that passes the request on is left out.

    Args:
        replacements: the module of the replacements.
    """
    frame = sys._getframe(2)
    passes_on = frame.f_globals.get("__name__") == replacements and frame.f_back is not None
    return Caller(frame.f_back if passes_on and frame.f_back else frame)

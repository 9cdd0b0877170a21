"""The code of another library that asks for an array, or calls a replaced function.

``__array__``, ``__jax_array__`` and a function that ``fg.intercept`` has replaced are called without a word about the
caller, and only its frame tells which one it is. This module is the only one of the NumPy room that reads frames. It is
used for callers in NumPy, SciPy, JAX, PyTorch and Numba, which have no hook, and for messages. What a function of a
user's is called never decides anything.
"""

from __future__ import annotations

import dis
import functools
import itertools
import opcode
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from funcgrad._core.numbers import PYTHON_NUMBERS
from funcgrad._core.tracebacks import compares, has_ours, instead, scipys_name, scipys_refusal
from funcgrad.errors import UnsupportedFunctionError

# From Python 3.14 on, an index is an operator of BINARY_OP, identified by the argument.
_SUBSCRIPTS = {opcode.opmap.get(name) for name in ("BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR")}
_OPERATOR = opcode.opmap["BINARY_OP"]
_OPERATORS = [name for name, *_ in getattr(opcode, "_nb_ops", ())]
_SUBSCRIPT_ARGUMENT = _OPERATORS.index("NB_SUBSCR") if "NB_SUBSCR" in _OPERATORS else None
_STORE = opcode.opmap["STORE_SUBSCR"]
# Modules of SciPy whose functions branch on the values of the user's function.
_SEARCHES = ("scipy.optimize._optimize", "scipy.optimize._zeros_py")
# NumPy's functions whose loop over objects orders them, and the methods that run such a loop.
_EXTREMES = (np.maximum, np.minimum, np.fmax, np.fmin)
_NAMES = frozenset(each.__name__ for each in _EXTREMES)
_FOLDS = frozenset(("reduce", "accumulate", "reduceat", "outer"))


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
    def position(self) -> tuple[CodeType, int]:
        """The operation that the function is at."""
        return self.code, self._frame.f_lasti

    @property
    def code(self) -> CodeType:
        """The code of the function. It distinguishes NumPy's own function from a user's of the same name."""
        return self._frame.f_code

    def calls(self, name: str, function: Any) -> bool:
        """Return whether the function may be calling another one of this name, rather than code in C that calls it.

        Code that contains the name calls it, unless it is at a call of something else. It may call it through a
        variable, or through a built-in function such as ``map``. Where the code has no columns
        (``python -X no_debug_ranges``), the current call is not known.
        """
        code, frame = self.code, self._frame
        if name not in code.co_names and name not in code.co_varnames and name not in code.co_freevars:
            return False
        called = _called(code).get(frame.f_lasti, name)
        if called == name:
            return True
        found = frame.f_locals.get(called, frame.f_globals.get(called))
        return found is function or (found is None and called in frame.f_builtins)

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
    def calls_extremes(self) -> bool:
        """Whether the function is at a call of ``np.maximum`` or a ufunc like it, or of one of its methods.

        NumPy's loop over objects compares their elements; the function's own comparisons are no calls.
        """
        code = self.code
        called = _called(code).get(self._frame.f_lasti, "")
        found = self._frame.f_locals.get(called, self._frame.f_globals.get(called))
        if found is not None or called not in _FOLDS:
            return found in _EXTREMES if isinstance(found, np.ufunc) else found is None and called in _NAMES
        return not _NAMES.isdisjoint(code.co_names)

    @property
    def joined_numbers(self) -> list[Any]:
        """The Python numbers that ``np.r_[...]`` joins, if the function is the one of ``np.r_``."""
        return [item for item in self._frame.f_locals.get("key", ()) if type(item) in PYTHON_NUMBERS]

    @property
    def numpys_operands(self) -> list[Any]:
        """The lists and arrays that a function of NumPy's works on; none if the function is another's."""
        if self.module.partition(".")[0] != "numpy":
            return []
        return [x for x in self._frame.f_locals.values() if isinstance(x, list | tuple | np.ndarray)]

    @property
    def scipys(self) -> tuple[str, str] | None:
        """The public module and name of SciPy's function; ``None`` if it is another."""
        return scipys_name(self._frame)

    @property
    def outer(self) -> Caller | None:
        """The function that called this one; ``None`` if Python was started with it."""
        frame = self._frame.f_back
        return None if frame is None else Caller(frame)

    def outwards(self, *packages: str) -> Iterator[Caller]:
        """Yield this function, its caller, and so on, as long as their modules begin with this name."""
        caller: Caller | None = self
        while caller is not None and caller.module.startswith(packages):
            yield caller
            caller = caller.outer


@functools.lru_cache(maxsize=4096)
def _called(code: CodeType) -> dict[int, str]:
    """Return the name of the called function for each call in the code, by offset.

    The columns tell it: the function of ``np.zeros(n)`` is the longest part that begins where the call begins. A frame
    at a call of a Python function may be at the end of the instruction's cache, so all offsets up to the next count.
    """
    found: dict[int, str] = {}
    # The parts of each expression, where they end and their names, under the position at which the expression starts.
    parts: dict[Any, list[tuple[Any, str]]] = {}
    instructions = list(dis.get_instructions(code))
    for each, following in itertools.pairwise(instructions):
        at = each.positions
        if at is None or at.end_col_offset is None:
            continue
        start, end = (at.lineno, at.col_offset), (at.end_lineno, at.end_col_offset)
        if each.opname.startswith("LOAD_"):
            parts.setdefault(start, []).append((end, str(each.argval)))
        elif "CALL" in each.opname:
            inner = [part for part in parts.get(start, ()) if part[0] < end]
            if inner:
                found.update(dict.fromkeys(range(each.offset, following.offset, 2), max(inner)[1]))
    return found


def caller() -> Caller:
    """Return the function that called the function which calls this one."""
    return Caller(sys._getframe(2))


def asking(replacements: str) -> Caller:
    """Return the function that asked the caller for an array; a replacement that passes the request on is left out.

    Args:
        replacements: the module of the replacements.
    """
    by = Caller(sys._getframe(2))
    outer = by.outer
    return outer if by.module == replacements and outer is not None else by


def refuse_to_scipy(by: Caller, through: tuple[str, ...] = ()) -> None:
    """Refuse a SciPy function that reads plain numbers if we have one for it, and name ours.

    Args:
        by: the function that asks for an array or a namespace.
        through: modules of SciPy that may have their request.
    """
    found = None
    for each in by.outwards("scipy.", "numpy.", "funcgrad."):
        if each.module.startswith("funcgrad._transforms."):
            # SciPy called a transform, as with ``jac=fg.grad(rosen)``: the traced values exist only inside that call.
            break
        name = each.scipys
        # The outermost function is the one that the user called.
        known = name is not None and name[0] not in through and (has_ours(*name) or instead(*name))
        found = name if known else found
    if found is not None:
        raise UnsupportedFunctionError(scipys_refusal(*found))


def refuse_comparison(by: Caller) -> None:
    """Refuse a SciPy search that only compares the values of a function: its result would carry no derivative.

    Args:
        by: the function that compares.
    """
    if by.module.startswith(_SEARCHES) and any(
        name is not None and compares(*name) for name in [each.scipys for each in by.outwards("scipy.")]
    ):
        refuse_to_scipy(by)

"""The checks of ``debug_nans``: they find the first operation that makes a NaN or infinity out of finite numbers.

While checks are on, each trace that is entered gets a hook that looks at the result of each operation, and each pass
back over a tape uses pulls that look at the cotangents. While checks are off, a trace that is entered and a pass that
begins ask once whether a list is empty.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import Trace, Tracer, onlookers
from funcgrad._core.graph.line import Line, user_line
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._core.trace.tape import is_joint, kept_by, parents_of, primitive_of, pulls
from funcgrad._types import Value
from funcgrad.errors import NonFiniteError

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

# Lines are kept for the last operations. The tape of tensors has no end, and few tapes are longer than this.
_LINES = 1 << 18
_FEW = 1 << 12

vdot, isfinite = np.vdot, math.isfinite


class Checks:
    """The values that are searched for, and the user's lines of the operations on the tape.

    Args:
        infinities: whether an infinity counts as well as NaN.
        inside: looks for the faulty operation inside an operation that holds a program, and raises if it finds it.
    """

    def __init__(self, infinities: bool, inside: Callable[[Checks, Primitive, Sequence[Any], dict], None]) -> None:
        self.infinities = infinities
        self.inside = inside
        # The line of each node, by the node's serial number.
        self.lines: dict[int, Line | None] = {}

    def is_bad(self, x: Value) -> bool:
        """Return whether a bare array contains one of the values searched for. Other dtypes than floats never do."""
        kind = type(x)
        if kind is np.ndarray:
            # For small arrays the sum of squares is faster. It is finite if all elements are, unless they are huge.
            if x.size < _FEW and x.dtype.char in "fdFD" and isfinite(vdot(x, x).real):
                return False
        elif kind is float or kind is np.float64:
            return not math.isfinite(x) if self.infinities else math.isnan(x)
        dtype = getattr(x, "dtype", None)
        # A cotangent in pieces (of ``x[i]``, for one ``x``) was checked before it was put together.
        if dtype is None or not is_inexact(dtype) or hasattr(x, "total"):
            return False
        return not (np.isfinite(x) if self.infinities else ~np.isnan(x)).all()

    def remember(self, y: Value, several: bool = False) -> None:
        """Keep the line of the operation that made a traced value."""
        node = getattr(y, "_node", None)
        if isinstance(node, tuple | list):
            if len(self.lines) >= _LINES:
                self.lines.clear()
            # If there are several results, the parent of each is the node of the operation.
            if several:
                node = next((parent for parent in parents_of(node) if parent is not None and is_joint(parent)), node)
            self.lines[node[0]] = user_line()

    def look(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        params: dict,
        y: Value,
        line: Line | None,
        given: Sequence[Any] | None = None,
    ) -> None:
        """Raise if an operation made such a value out of finite numbers: out of `given`, if `given` is passed."""
        for part in y if primitive.multiple_results else (y,):
            for value, what in _seen(part):
                before = operands if given is None else given
                if self.is_bad(value) and not any(self.is_bad(x) for each in before for x, _ in _seen(each)):
                    self.inside(self, primitive, [bare(x) for x in operands], params)
                    raise self.error(what.format(primitive.name), value, [bare(x) for x in operands], line)

    def pull_error(self, node: Any, number: int, value: Value, read: Sequence[Any]) -> Exception:
        """Return the error for a cotangent that a node's pull made for its operand of this number."""
        del number
        primitive = primitive_of(node)
        name = "an operation" if primitive is None else primitive.name
        what = f"the derivative of {name}, in the pass back over the line"
        return self.error(what, value, read, self.lines.get(node[0]))

    def error(self, what: str, value: Value, read: Sequence[Any], line: Line | None) -> NonFiniteError:
        """Return the error, which describes all numbers that the operation read."""
        found = np.asarray(value)
        bad = ~np.isfinite(found) if self.infinities else np.isnan(found)
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" at {line}, `{line.text}`" if line is not None else ""
        given = [x for x in read if self.is_bad(x)]
        cause = f"met {'nan' if any(map(has_nan, given)) else 'inf'} of the data, and made {found[first]} of it"
        return NonFiniteError(
            f"debug_nans: {what}{where} {cause if given else f'made {found[first]} of finite numbers'}, in "
            f"{int(bad.sum())} of {bad.size} places, the first at index {first}. It read {_listed(read)}. Keep what "
            "it reads inside its domain (np.where on the operand rather than on the result), or leave the context "
            "for this part."
        )


checks: ContextVar[Checks | None] = ContextVar("funcgrad_checks", default=None)


def has_nan(x: Value) -> bool:
    """Return whether a bare array or number contains NaN."""
    dtype = getattr(x, "dtype", None)
    inexact = issubclass(type(x), float) if dtype is None else is_inexact(dtype)
    return inexact and bool(np.isnan(x).any())


def bare(x: Value) -> Any:
    """Return the numbers of a value beneath all transforms; ``None`` if there are none."""
    while isinstance(x, Tracer):
        if isinstance(x._owner, StagingTrace):
            return None
        x = getattr(x, "_value", None)
        if type(x) is tuple:  # a place, which knows its value by version
            x = x[1]
    return x


# The fields of tracers that hold more numbers than the value, each with a phrase that names the operation for them.
_CARRIED = {
    "_tangent": "the derivative of {}",
    "_series": "the derivative of {}",
    "_laplacian": "the Laplacian of {}",
}


def _seen(x: Value) -> list[tuple[Any, str]]:
    """Return the numbers and the tangents of a value, each with a phrase that names the operation for it."""
    seen = [(bare(x), "{}")]
    for name in x._held if isinstance(x, Tracer) else ():
        if name == "_series":
            seen += [(bare(term), "the derivative of {}") for term in x._series.known[1:]]
        elif name in _CARRIED:
            seen.append((bare(getattr(x, name)), _CARRIED[name]))
    return seen


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(_described(x) for x in values if x is not None) or "nothing"


def _described(x: Value) -> str:
    """Describe an array by its type and range."""
    if not hasattr(x, "dtype"):
        return repr(x)
    found = np.asarray(x)
    text = f"{found.dtype}[{','.join(map(str, found.shape))}]"
    if found.size == 0 or found.dtype.kind not in "biuf":
        return text
    return f"{text} from {found.min()} to {found.max()}" if found.ndim else f"{text} {found}"


def check_result(trace: Trace, primitive: Primitive, operands: tuple, params: dict, y: Value) -> None:
    """Look at the result of an application, if checks are on in this thread. It is a trace's ``check`` hook."""
    asked = checks.get()
    if asked is None:
        return
    if primitive.multiple_results:
        asked.look(primitive, operands, params, y, user_line())
        for part in y:
            asked.remember(part, several=True)
        return
    # The common case comes first: a NumPy value without NaN.
    value = getattr(y, "_value", y)
    if type(value) is not np.ndarray or asked.is_bad(value) or not _CARRIED.keys().isdisjoint(getattr(y, "_held", ())):
        asked.look(primitive, operands, params, y, user_line())
    asked.remember(y)


def begin(trace: Trace) -> None:
    """Set the hook of a trace that is entered while checks are on. Staging computes no numbers, so it has none."""
    if checks.get() is not None and not isinstance(trace, StagingTrace):
        trace.set_check(check_result)


class CheckedPulls:
    """Replaces the list of pulls in a pass: each pull checks its results."""

    def __init__(self, asked: Checks) -> None:
        self._asked = asked
        self._made: dict[int, Callable[[Any, Any], Any]] = {}

    def __getitem__(self, kind: int) -> Callable[[Any, Any], Any]:
        found = self._made.get(kind)
        if found is None:
            found = self._made[kind] = functools.partial(_checked_pull, self._asked, pulls[kind])
        return found


def _checked_pull(asked: Checks, pull: Callable[[Any, Any], Any], y_bar: Value, node: Any) -> Any:
    x_bars = pull(y_bar, node)
    for number, x_bar in enumerate(x_bars if isinstance(x_bars, tuple | list) else (x_bars,)):
        value = x_bar if type(x_bar) is np.ndarray else bare(x_bar)
        if asked.is_bad(value) and not asked.is_bad(bare(y_bar)):
            kept = [bare(x) for x in kept_by(node) if not callable(x) and not isinstance(x, tuple | list)]
            # An infinity in the data gives infinite derivatives. A NaN in the data must not reach a gradient unnoticed.
            if any(map(asked.is_bad, kept)) and not has_nan(value):
                continue
            raise asked.pull_error(node, number, value, kept if isinstance(y_bar, list) else [bare(y_bar), *kept])
    return x_bars


def pulls_in_use() -> Any:
    """Return the pulls of all kinds of nodes; they check their results while checks are on."""
    asked = checks.get() if onlookers else None
    return pulls if asked is None else CheckedPulls(asked)

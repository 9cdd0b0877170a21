"""Application of a primitive: on bare values an engine runs it, among tracers the innermost trace takes it.

A trace's ``level`` is a serial number. An inner transform always starts after the outer one it runs in, so the
greater level is the inner one, in every thread: this keeps nested transforms apart (no perturbation confusion).
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, Token
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Protocol, Self

import numpy as np

from funcgrad._core.aval import WeakComplex, WeakFloat
from funcgrad._core.numbers import keep_weak
from funcgrad._public import published_as
from funcgrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

NO_PARAMS: dict[str, Any] = {}

next_serial = itertools.count(1).__next__
"""A number greater than all before: of a trace its level, of a tracer when it was made."""
_active: ContextVar[Trace | None] = ContextVar("funcgrad_active_trace", default=None)


def _seen_as(self: Tracer) -> type:
    """``x.__class__``: an ndarray to ``numpy.polynomial``, or else the type."""
    # It has no hook, and asks isinstance(x, np.ndarray) before it lays out coefficients beside x: what is none counts
    # as one point, and a wrong number comes out. Only an isinstance that the type itself does not answer comes here.
    asking = sys._getframe(1).f_globals.get("__name__", "")
    return np.ndarray if asking.startswith("numpy.polynomial.") else type(self)


# What to write instead of setting an attribute.
_INSTEAD = {"shape": "x = x.reshape(shape)", "dtype": "x = x.astype(dtype)", "strides": "x = x.reshape(shape)"}


def keeps(name: str) -> Callable[[Any, Any], NoReturn]:
    """Return the setter of an attribute that cannot be set: it says what to write."""

    def refuse(self: Any, value: Any) -> NoReturn:
        raise AttributeError(
            f"x.{name} = value: x is a traced array {self.aval}, whose {name} cannot be set. A traced array keeps its "
            f"shape and dtype as long as it lives. Write {_INSTEAD.get(name, 'x[...] = value, or make a new array')}."
        )

    return refuse


@published_as("funcgrad")
class Tracer:
    """A value under a transform, or a tensor: what stands where an array stands, and what NumPy's functions take.

    It has an array's attributes, methods and operators (``funcgrad.numpy`` attaches them); what they do its trace
    decides. ``fg.Tracer`` is there to be asked for, in ``isinstance``, ``functools.singledispatch`` and annotations;
    transforms make tracers, nobody else. What is to count as a constant is ``fg.stop_gradient(x)``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def norm(x: np.ndarray | fg.Tracer) -> np.ndarray | fg.Tracer:
        ...     return np.sqrt(np.sum(x * x)) if isinstance(x, fg.Tracer) else np.linalg.norm(x)
        >>> fg.grad(norm)(np.array([3.0, 4.0]))
        array([0.6, 0.8])
    """

    # One layout for tracers of all kinds, of which each uses a part: so a tracer that is written to can become a place
    # (``place.py``) and stay the same object. A view knows what it shows, by which primitive, with which parameters.
    __slots__ = ("_dtype", "_node", "_owner", "_shape", "_value", "_viewed", "_viewed_at", "_viewed_by")

    # To be set all the same, by which a tracer becomes a place.
    __class__ = property(_seen_as, object.__dict__["__class__"].__set__)  # pyright: ignore[reportIncompatibleMethodOverride]  (a hook)

    # Read-only: a shape that differs from what the operations see would give wrong results. A getter of C takes 24 ns
    # more than a slot, a getter in Python 110 ns.
    shape = property(operator.attrgetter("_shape"), keeps("shape"))
    dtype = property(operator.attrgetter("_dtype"), keeps("dtype"))

    _owner: Trace
    # What a tracer of this kind holds beside its owner, by name; nothing where it cannot be written to.
    _held: tuple[str, ...] = ()
    # Whether its views are told what they show; those of a place know.
    _tells_views = True

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Shape, dtype and aval, which each kind holds in its own way, and all that is attached."""

        def __setattr__(self, name: str, value: Any) -> None: ...


def is_traced(x: Any) -> bool:
    """Whether a value is traced: whether it stands under a transform, or as a tensor, where an array stands.

    Args:
        x: anything. Pytrees are not looked into: ``any(map(fg.is_traced, fg.tree.leaves(tree)))`` does that.

    Returns:
        ``isinstance(x, fg.Tracer)``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def f(x):
        ...     print(fg.is_traced(x), fg.is_traced(np.sin(x)), fg.is_traced(x.shape))
        ...     return np.sum(x)
        >>> fg.grad(f)(np.ones(2))
        True True False
        array([1., 1.])
        >>> fg.is_traced(np.ones(2))
        False
    """
    return isinstance(x, Tracer)


# What is told of each trace that is entered. Empty but for those who look on (``trace/checked.py``).
onlookers: list[Callable[[Trace], None]] = []
# Traces that never end, so that nobody is told.
lasting_traces: list[Trace] = []


class Trace:
    """One running transform: what happens to the primitives that meet its tracers. Entered around the user's code."""

    transform = "transform"
    # Whether Python sees the numbers: a staged value has none to branch on.
    concrete = True
    # Whether it answers when Python asks a staged value for its number, and records the answer (`follow`).
    follows = False
    # Why the numbers are not known, for messages.
    unknown = "only its shape and dtype are known"
    # What an error of NumPy's is to be told when it comes out of the user's function, and words that it says then.
    note: tuple[str, str] | None = None
    # Until the transform ends.
    alive = True
    # Whether `apply` may begin at once: the trace has not ended and has no hook. Each operation asks this one field.
    direct = True
    # ``refresh(trace, operands)``, the hook before an application: it brings views up to date after a write, and says
    # whether the primitive has to be dispatched anew.
    refresh: Callable[[Trace, tuple], bool] | None = None
    # ``check(trace, primitive, operands, params, y)``, the hook after an application: `fg.debug_nans` sets it.
    check: Callable[[Trace, Primitive, tuple, dict, Any], None] | None = None
    # From when it is entered.
    _token: Token[Trace | None]

    def __init__(self) -> None:
        self.level = next_serial()

    def __enter__(self) -> Self:
        self._token = _active.set(self)
        for look in onlookers:
            look(self)
        return self

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        """Restore the outer trace and end this one, whatever the user's code raised."""
        _active.reset(self._token)
        self.alive = self.direct = False
        if error is not None and self.note:
            _note(error, self.note)

    @property
    def outer(self) -> Trace | None:
        """The transform around this one."""
        before = self._token.old_value
        return before if isinstance(before, Trace) else None

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        """Apply a primitive to operands of which at least one is a tracer of this trace.

        An implementation begins with ``if hooked and not self.direct: return self.apply_hooked(...)``.
        """
        raise NotImplementedError

    def apply_hooked(self, primitive: Primitive, operands: tuple, params: dict) -> Any:
        """Apply a primitive between the hooks, or refuse it if the trace has ended."""
        if not self.alive:
            self.refuse_leak(primitive)
        if self.refresh is not None and self.refresh(self, operands):
            return bind(primitive, operands, params)
        y = self.apply(primitive, operands, params, False)
        if self.check is not None:
            self.check(self, primitive, operands, params, y)
        return y

    def set_refresh(self, refresh: Callable[[Trace, tuple], bool]) -> None:
        """Set the hook before an application."""
        self.refresh = refresh
        self.direct = False

    def set_check(self, check: Callable[[Trace, Primitive, tuple, dict, Any], None] | None) -> None:
        """Set the hook after an application, or remove it with ``None``."""
        self.check = check
        self.direct = self.alive and check is None and self.refresh is None

    def follow(self, x: Any, asked: str) -> Any:
        """Answer ``bool``, ``int``, ``index`` or ``item`` of a value; only where the trace `follows`."""
        raise NotImplementedError

    def may_be_array(self, x: Any) -> bool:
        """Whether a value without axes, of which only the type is known, may be an array rather than a number."""
        del x
        return False

    def refuse_leak(self, primitive: Primitive) -> NoReturn:
        raise UnexpectedTracerError(
            f"{primitive.name}: an operand is a tracer of a {self.transform} that has ended. "
            f"It was kept, in a global, an attribute or a closure, beyond the function that {self.transform} ran. "
            "Return the value from that function instead of storing it, or store fg.stop_gradient of it."
        )


def _note(error: BaseException, note: tuple[str, str]) -> None:
    text, words = note
    said = isinstance(error, TypeError | ValueError) and words in str(error)
    # NumPy's loops over arrays of objects ask a number for methods of NumPy's names: "'float' ... attribute 'hypot'".
    asked = isinstance(error, AttributeError) and not words and error.name in vars(np)
    if (said or asked) and text not in getattr(error, "__notes__", ()):
        error.add_note(text)


# The innermost transform running in this thread and context; no function of ours around it, which is asked for often.
active_trace: Callable[[], Trace | None] = _active.get


def restore(before: Trace | None) -> None:
    """Make active again what was so when a function was called, which an interruption between two lines left open.

    Ctrl-C may come after a trace is entered, and before the ``with`` that leaves it has begun; or while it leaves.
    """
    if _active.get() is not before:
        _active.set(before)


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """Run code of plain values as if no transform ran around it."""
    before = _active.get()
    try:
        _active.set(None)
        yield
    finally:
        _active.set(before)


def bind(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Apply a primitive to operands of any kind."""
    top: Trace | None = None
    foreign = None
    for x in operands:
        home = _homes.get(type(x), _GUEST)
        if home is not None:
            if home is _GUEST:
                home = _home_of(x)
                if home is _GUEST:
                    return _guest_rules[0](primitive, operands, params)
            if home is _TRACED:
                trace = x._owner
                if top is None or trace.level > top.level:
                    top = trace
            elif home is not None:
                foreign = home
    if top is not None:
        return top.apply(primitive, operands, params)
    if foreign is not None:
        return foreign.run(primitive, operands, params)
    y = primitive.numpy(*operands, **params)
    return keep_weak(y, operands) if primitive.operator and type(y) in _SCALAR_RESULTS else y


def bind_one(primitive: Primitive, x: Any, params: dict) -> Any:
    """`bind` of one operand: of a tracer, its trace is the innermost."""
    return x._owner.apply(primitive, (x,), params) if isinstance(x, Tracer) else bind(primitive, (x,), params)


_SCALAR_RESULTS = frozenset({np.float64, np.complex128})


class Runner(Protocol):
    """What runs primitives on values of its own: a record of ``funcgrad._engines``."""

    @property
    def run(self) -> Callable[[Primitive, tuple, dict], Any]:
        """Apply a primitive to bare values, of which at least one is of this engine."""
        ...

    @property
    def is_abstract(self) -> Callable[[Any], bool]:
        """Whether one of its values stands for numbers that are not known yet."""
        ...


class _Home(Enum):
    """Where values are at home that no engine runs."""

    # With a trace.
    TRACED = "traced"
    # What is no value of ours, or has yet to be looked at. It is never remembered: so guests cost the others nothing.
    GUEST = "guest"


_TRACED: Final = _Home.TRACED
_GUEST: Final = _Home.GUEST

# Where values of each type are at home; None is NumPy. Types are added when they are first met.
_homes: dict[type, Runner | Literal[_Home.TRACED] | None] = dict.fromkeys(
    (
        np.ndarray,
        np.memmap,
        bool,
        int,
        float,
        complex,
        WeakFloat,
        WeakComplex,
        *{np.dtype(c).type for c in np.typecodes["All"]},
    )
)
# Values of these types run on NumPy without further look.
NUMPY_TYPES = frozenset(_homes)
_engine_finders: list[Callable[[Any], Runner | None]] = []


def set_engine_finder(finder: Callable[[Any], Runner | None]) -> None:
    """Say what finds the engine of a value whose type was not met before; ``None`` where it belongs to none."""
    _engine_finders[:] = [finder]


# ``rule(primitive, operands, params)``: what happens where a guest is among the operands. Set by the NumPy surface.
_guest_rules: list[Callable[[Primitive, tuple, dict], Any]] = []


def set_guest_rule(rule: Callable[[Primitive, tuple, dict], Any]) -> None:
    """Say what happens to subclasses of ``ndarray``, and to arrays of other libraries, among the operands."""
    _guest_rules[:] = [rule]


def _home_of(x: Any) -> Runner | Literal[_Home.TRACED, _Home.GUEST] | None:
    """Where a value of a type not met before is at home; remembered, but of guests."""
    home = None
    if isinstance(x, Tracer):
        home = _TRACED
    elif not isinstance(x, np.generic):
        home = _engine_finders[0](x)
        if home is None:
            return _GUEST
    _homes[type(x)] = home
    return home


def top_trace(values: Iterable[Any]) -> Trace | None:
    """The innermost trace among the values."""
    return max((x._owner for x in values if isinstance(x, Tracer)), key=lambda trace: trace.level, default=None)


def level_of(values: Iterable[Any]) -> int:
    """The level of the innermost trace among the values; 0 where all are bare."""
    return max((x._owner.level for x in values if isinstance(x, Tracer)), default=0)


def engine_of(x: Any) -> Runner | None:
    """The engine of a bare value; ``None`` for NumPy's, for tracers and for what is no value."""
    kind = type(x)
    home = _homes[kind] if kind in _homes else _home_of(x)
    return None if isinstance(home, _Home) else home


def is_foreign(x: Any) -> bool:
    """Whether a bare value belongs to another engine than NumPy."""
    kind = type(x)
    home = _homes[kind] if kind in _homes else _home_of(x)
    return home is not None and home is not _TRACED and home is not _GUEST


def is_value(x: Any) -> bool:
    """Whether primitives take this value: an array, a number or a tracer."""
    return type(x) in _homes or _home_of(x) is not _GUEST

"""Apply primitives: an engine runs them on bare values, and the innermost trace handles them among tracers.

A trace's ``level`` is a serial number. An inner transform starts after the outer one, so the trace with the greater
level is the inner one, in every thread. Levels keep nested transforms apart (no perturbation confusion).
"""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, Token
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Protocol, Self

import numpy as np

from funcgrad._core.aval import WeakComplex, WeakFloat
from funcgrad._core.definition import definition_of
from funcgrad._core.numbers import keep_weak
from funcgrad._public import published_as
from funcgrad._types import Value
from funcgrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

NO_PARAMS: dict[str, Any] = {}
next_serial = itertools.count(1).__next__
"""A counter that only grows. It gives each trace its level, and each tracer its serial number."""
_active: ContextVar[Trace | None] = ContextVar("funcgrad_active_trace", default=None)


_INSTEAD = {"shape": "x = x.reshape(shape)", "dtype": "x = x.astype(dtype)", "strides": "x = x.reshape(shape)"}


def keeps(name: str) -> Callable[[Any, Any], NoReturn]:
    """Return the setter of an attribute that cannot be set. It raises an error that says what to write."""

    def refuse(self: Any, value: Value) -> NoReturn:
        raise AttributeError(
            f"x.{name} = value: x is a traced array {self.aval}, whose {name} cannot be set. A traced array keeps its "
            f"shape and dtype as long as it lives. Write {_INSTEAD.get(name, 'x[...] = value, or make a new array')}."
        )

    return refuse


@published_as("funcgrad")
class Tracer:
    """A traced value: an object that stands for an array inside a transform, or a tensor.

    It has an array's attributes, methods and operators, which ``funcgrad.numpy`` attaches. Its trace decides what they
    do. Use ``fg.Tracer`` in ``isinstance``, ``functools.singledispatch`` and annotations. Only transforms make tracers.
    ``fg.stop_gradient(x)`` returns a value that counts as a constant.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def norm(x: np.ndarray | fg.Tracer) -> np.ndarray | fg.Tracer:
        ...     return np.sqrt(np.sum(x * x)) if isinstance(x, fg.Tracer) else np.linalg.norm(x)
        >>> fg.grad(norm)(np.array([3.0, 4.0]))
        array([0.6, 0.8])
    """

    # All kinds of tracers have the same slots, and each kind uses some of them. A view keeps its base, the primitive
    # and the parameters. A tracer that is written to gets a memory, and a view of it keeps the value that was read last
    # (``place.py``).
    __slots__ = (
        *("_dtype", "_last_read", "_memory", "_node", "_owner", "_shape", "_value"),
        *("_viewed", "_viewed_at", "_viewed_by"),
    )

    # ``isinstance`` asks for it. The NumPy room attaches the method. It runs in the frame of the code that asks.
    __class__ = property(operator.methodcaller("_class_of"))  # pyright: ignore[reportIncompatibleMethodOverride]  (a hook)

    # The attributes are read-only: a shape that differs from the one that operations use would give wrong results. A
    # getter in C takes 24 ns more than a slot, a getter in Python 110 ns.
    shape = property(operator.attrgetter("_shape"), keeps("shape"))
    dtype = property(operator.attrgetter("_dtype"), keeps("dtype"))

    _owner: Trace
    # Names of the slots that hold a tracer's value. They are empty for tracers that cannot be written to.
    _held: tuple[str, ...] = ()
    # Whether `remember_view` stores the base in views of this tracer. Views of a place have it already.
    _tells_views = True
    _promotion: Callable[[tuple, Any], np.dtype] | None = None  # the rule for the common dtype, if it is not NumPy's

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the shape, dtype or aval, or an attached attribute. Kinds of tracers store them differently."""

        def __setattr__(self, name: str, value: Value) -> None: ...


def is_traced(x: object) -> bool:
    """Return whether a value is traced: whether it is a tracer of a transform, or a tensor.

    Args:
        x: anything. Use ``any(map(fg.is_traced, fg.tree.leaves(tree)))`` for a pytree.

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


# Functions that are called with each trace that is entered. ``trace/checked.py`` adds one while checks are on.
onlookers: list[Callable[[Trace], None]] = []
# Traces that never end, such as the trace of tensors. No call of `onlookers` announces them.
lasting_traces: list[Trace] = []


class Trace:
    """One running transform. It decides what primitives do with its tracers."""

    transform = "transform"
    concrete = True  # whether Python can read the numbers; a staged value has no numbers to branch on
    binds_primals = False  # whether `apply` binds the primitive to the primals, as Taylor mode and traced tensors do
    # Whether it answers when Python asks a staged value for its number, and records the answer (`follow`).
    follows = False
    # Whether a trace that follows gets answers. The values outside of a function's body may have none.
    is_answered = True
    # Whether a new array of its tracers can be written to as NumPy's arrays are; tensors have their own writes.
    makes_places = True
    # For messages: the reason why numbers cannot be read, and the function that the transform runs.
    unknown = "only its shape and dtype are known"
    # Whether a derivative is taken of the program after it was recorded; ``None`` if the trace around knows it.
    is_differentiated: bool | None = None
    function: Callable[..., Any] | None = None
    # A note for NumPy's errors that leave the user's function, and a part of the message that identifies these errors.
    note: tuple[str, str] | None = None
    keeps_backward = False  # whether `backward` of tensors may run inside, because the trace keeps no value of theirs
    made_objects = ""  # "arrays" or "lists" if NumPy made objects of tracers, or of lists of them, and compares these
    # ``follow(place, region)``, called after each write for each array that NumPy takes for a traced one.
    followers: dict[int, Callable[[Tracer, Any], None]] | None = None
    # Whether comparisons and roundings of its values are noted, and the places (`trace/reads.py`).
    notes_reads = False
    reads: dict[Any, Any] = {}  # noqa: RUF012  (a dictionary is replaced, never changed)
    alive = True  # until the transform has ended
    # Whether `apply` may begin at once: the trace has not ended and has no hook. Each operation reads only this field.
    direct = True
    # ``refresh(trace, operands)``, the hook before an application: it updates views, and says whether to bind again.
    refresh: Callable[[Trace, tuple], bool] | None = None
    # ``check(trace, primitive, operands, params, y)``, the hook after an application: `fg.debug_nans` sets it.
    check: Callable[[Trace, Primitive, tuple, dict, Any], None] | None = None
    _token: Token[Trace | None]  # set when the trace is entered

    def __init__(self) -> None:
        self.level = next_serial()

    def __enter__(self) -> Self:
        self._token = _active.set(self)
        for look in onlookers:
            look(self)
        return self

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        """Restore the outer trace and end this one, even if the user's code raised."""
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
            self.refuse_leak(primitive, operands)
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

    def follow(self, x: Value, asked: str) -> Any:
        """Answer ``bool``, ``int``, ``index`` or ``item`` of a value; only where the trace `follows`."""
        raise NotImplementedError

    def is_array(self, x: Value) -> bool:
        """Return whether a value with no axes is an array rather than a number, if its numbers are not known."""
        del x
        return False

    def made_at(self, x: Value) -> str:
        """Say where a tracer of this trace was made: in which function, because only graphs know lines."""
        del x
        return "" if self.function is None else f"; it was made in {definition_of(self.function)}"

    def refuse_leak(self, primitive: Primitive, operands: tuple) -> NoReturn:
        where = next(self.made_at(x) for x in operands if isinstance(x, Tracer) and x._owner is self)
        raise UnexpectedTracerError(
            f"{primitive.name}: an operand is a tracer of a {self.transform} that has ended{where}. "
            f"It was kept, in a global, an attribute or a closure, beyond the function that {self.transform} ran. "
            "Return the value from that function instead of storing it, or store fg.stop_gradient of it."
        )


def _note(error: BaseException, note: tuple[str, str]) -> None:
    text, words = note
    said = isinstance(error, TypeError | ValueError) and words in str(error)
    # In arrays of objects, NumPy's loops call methods with NumPy's names: "'float' object has no attribute 'hypot'".
    asked = isinstance(error, AttributeError) and not words and error.name in vars(np)
    if (said or asked) and text not in getattr(error, "__notes__", ()):
        error.add_note(text)


# Returns the innermost transform of this thread and context. A function of ours around it would take longer.
active_trace: Callable[[], Trace | None] = _active.get


def restore(before: Trace | None) -> None:
    """Make the trace active again that was active at the start of a call, after an interruption.

    Ctrl-C may arrive between the entry of a trace and the start of its ``with`` block, or while the block ends.
    """
    if _active.get() is not before:
        _active.set(before)


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """Run code of plain values as if no transform ran around it."""
    token = _active.set(None)
    try:
        yield
    finally:
        _active.reset(token)


def bind(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Apply a primitive to operands of any kind."""
    top: Trace | None = None
    engine = None
    for x in operands:
        handler = _handlers.get(type(x), _FOREIGN)
        if handler is not None:
            if handler is _FOREIGN:
                handler = _handler_of(x)
                if handler is _FOREIGN:
                    return _foreign_rules[0](primitive, operands, params)
            if handler is _TRACED:
                trace = x._owner
                if top is None or trace.level > top.level:
                    top = trace
            elif handler is not None:
                engine = handler
    if top is not None:
        return top.apply(primitive, operands, params)
    if engine is not None:
        return engine.run(primitive, operands, params)
    y = primitive.numpy(*operands, **params)
    return keep_weak(y, operands) if primitive.operator and type(y) in _SCALAR_RESULTS else y


def bind_one(primitive: Primitive, x: Value, params: dict) -> Any:
    """Apply a primitive to one operand. If the operand is a tracer, its trace is the innermost one."""
    return x._owner.apply(primitive, (x,), params) if isinstance(x, Tracer) else bind(primitive, (x,), params)


_SCALAR_RESULTS = frozenset({np.float64, np.complex128})


class Runner(Protocol):
    """The part of an engine's record that `bind` needs; see ``funcgrad._engines``."""

    @property
    def run(self) -> Callable[[Primitive, tuple, dict], Any]:
        """Apply a primitive to bare values, at least one of which belongs to this engine."""
        ...

    @property
    def is_abstract(self) -> Callable[[Any], bool]:
        """Return whether one of the engine's values stands for numbers that are not known yet."""
        ...


class _Handler(Enum):
    """The handler of a type that no engine runs."""

    # A trace.
    TRACED = "traced"
    # Another library, or a type not met before. It is not stored in the table, so other types cost nothing more.
    FOREIGN = "foreign"


_TRACED: Final = _Handler.TRACED
_FOREIGN: Final = _Handler.FOREIGN

# The engine or handler of each type; None is NumPy. Types are added when they are first met.
_handlers: dict[type, Runner | Literal[_Handler.TRACED] | None] = dict.fromkeys(
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
# Values of these types run on NumPy without a further test.
NUMPY_TYPES = frozenset(_handlers)
_engine_finders: list[Callable[[Any], Runner | None]] = []


def set_engine_finder(finder: Callable[[Any], Runner | None]) -> None:
    """Set the function that finds the engine of a value of a new type.

    It returns ``None`` if no engine has the type.
    """
    _engine_finders[:] = [finder]


# ``rule(primitive, operands, params)`` applies a primitive to operands of foreign array types. The NumPy room sets it.
_foreign_rules: list[Callable[[Primitive, tuple, dict], Any]] = []


def set_foreign_rule(rule: Callable[[Primitive, tuple, dict], Any]) -> None:
    """Set the rule for operands that are subclasses of ``ndarray`` or arrays of other libraries."""
    _foreign_rules[:] = [rule]


def _handler_of(x: Value) -> Runner | Literal[_Handler.TRACED, _Handler.FOREIGN] | None:
    """Return the handler of a value of a new type, and store it unless the type is foreign."""
    handler = None
    if isinstance(x, Tracer):
        handler = _TRACED
    elif not issubclass(type(x), np.generic):
        handler = _engine_finders[0](x)
        if handler is None:
            return _FOREIGN
    _handlers[type(x)] = handler
    return handler


def top_trace(values: Iterable[Any]) -> Trace | None:
    """Return the innermost trace among the values."""
    return max((x._owner for x in values if isinstance(x, Tracer)), key=lambda trace: trace.level, default=None)


def level_of(values: Iterable[Any]) -> int:
    """Return the level of the innermost trace among the values, or 0 if all are bare."""
    return max((x._owner.level for x in values if isinstance(x, Tracer)), default=0)


def engine_of(x: Value) -> Runner | None:
    """Return the engine of a bare value; ``None`` for NumPy's values, for tracers and for other objects."""
    kind = type(x)
    handler = _handlers[kind] if kind in _handlers else _handler_of(x)
    return None if isinstance(handler, _Handler) else handler


def is_engine_value(x: object) -> bool:
    """Return whether a bare value belongs to another engine than NumPy."""
    kind = type(x)
    handler = _handlers[kind] if kind in _handlers else _handler_of(x)
    return handler is not None and handler is not _TRACED and handler is not _FOREIGN


def is_value(x: object) -> bool:
    """Return whether primitives accept this value: an array, a number or a tracer."""
    return type(x) in _handlers or _handler_of(x) is not _FOREIGN

"""The primitive: one record that holds all that is known of an operation."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from funcgrad._core.bind import Tracer, bind
from funcgrad._core.forms import NO_FORMS, Forms
from funcgrad._core.lazy import implementing_rooms, load

_NDARRAY = np.ndarray


class Derivative(Protocol):
    """How a primitive with one result is differentiated; the kinds are in ``trace/derivative.py``."""

    def node_maker(self, primitive: Primitive, active: int) -> Callable[[Any, Any, Any, Any, dict], Any]:
        """For a set of active operands (bit i: operand i), what records an application.

        Called with ``(trace, primals, nodes, y, params)``, it returns the tape's node, or ``None`` where there is no
        derivative.
        """
        ...

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        """The tangent of the result; a tangent is ``None`` where an operand has none."""
        ...


class JointDerivative(Protocol):
    """How a primitive with several results is differentiated: it runs the primitive itself, to choose what to keep."""

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        """``(results, rule, kept)``: ``rule(y_bars, *kept)`` gives a cotangent or ``None`` per operand.

        ``rule`` is ``None`` where the results carry no derivative.
        """
        ...

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        """Results and their tangents; ``None`` for a tangent that is zero."""
        ...


class View(NamedTuple):
    """What there is to know of a primitive whose result shows a part of its operand, in NumPy, and is no copy.

    Args:
        put: ``put(x, part, **params)``, which is ``x`` with another value in the place of what is shown; ``None``
            where NumPy lets nobody write to it.
        shown: whether it is a view with these parameters, ``shown(x_shape, params)``.
        may_copy: whether it depends on the strides of the operand too.
        same_in_cotangents: whether the cotangent of what is shown is what is shown of the cotangent.
        numpy: what shows it in NumPy, where the primitive's own implementation makes a copy.
    """

    put: Callable[..., Any] | None
    shown: Callable[[tuple[int, ...], dict], bool] = lambda shape, params: True
    may_copy: bool = False
    same_in_cotangents: bool = True
    numpy: Callable[..., Any] | None = None


def remember_view(y: Any, x: Any, primitive: Primitive, params: dict) -> None:
    """Have a traced result know of what it shows a part, for writes to come (``trace/place.py``); a place knows."""
    if y._tells_views:
        y._viewed, y._viewed_by, y._viewed_at = x, primitive, params


def view(x: Tracer, primitive: Primitive, params: dict) -> Any:
    """What a primitive shows of a tracer, by the shortest way."""
    y = x._owner.apply(primitive, (x,), params)
    if type(y) is type(x) and y._tells_views:
        y._viewed, y._viewed_by, y._viewed_at = x, primitive, params
    return y


class Primitive:
    """The unit of everything: an operation with its implementations and rules, declared in one place.

    Args:
        name: what graphs print; none of the library's own.
        operands: the names by which derivative rules ask for operands, in order; ``"*xs"`` for a variadic primitive.
        numpy: the implementation on NumPy values, ``numpy(*operands, **params)``.
        xla: the name of a ``jax.lax`` function, or ``xla(lax, *operands, **params)``.
        aval: the shape and dtype rule, ``aval(*avals, **params)``; a list of avals where there are several results.
        derivative: one of the kinds in ``trace/derivative.py``; a ``JointDerivative`` where there are several results.
        batch: the batching rule, ``batch(primitive, size, operands, batched, params)``; see `BatchTrace`.
        cost: floating-point operations, ``cost(y_aval, *avals, **params)``.
        elementwise: whether operands broadcast against each other and may be Python scalars.
        forms: what engines and the simplifier know of it beside this.
        multiple_results: whether it gives a list of results.
        module: the ``__name__`` of the module that declares it. Graphs that hold the primitive can then be pickled:
            they refer to it by module and name. Declared again in the same module, the later record takes the name.

    Raises:
        ValueError: the library has a primitive of this name.
    """

    __slots__ = (
        "aval",
        "batch",
        "cost",
        "derivative",
        "effect",
        "elementwise",
        "forms",
        "guards",
        "module",
        "multiple_results",
        "name",
        "node_makers",
        "numpy",
        "operands",
        "operator",
        "recorders",
        "recorders_with_params",
        "view",
        "xla",
    )

    def __init__(
        self,
        name: str,
        *,
        operands: tuple[str, ...],
        numpy: Callable[..., Any],
        xla: str | Callable[..., Any],
        aval: Callable[..., Any],
        derivative: Any,
        batch: Callable[..., Any] | None,
        cost: Callable[..., int],
        elementwise: bool = False,
        multiple_results: bool = False,
        forms: Forms = NO_FORMS,
        module: str | None = None,
    ) -> None:
        if name in _names_of_the_library:
            raise ValueError(
                f"primitive {name}: it was to be declared, and the library has a primitive of this name; needed "
                "another name, since engines and pickled graphs know the library's by theirs. "
                f"Call it 'my_{name}', say."
            )
        self.name = name
        self.forms = forms
        self.module = module
        self.operands = operands
        self.numpy = numpy
        self.xla = xla
        self.aval = aval
        self.derivative = derivative
        self.batch = batch
        self.cost = cost
        self.elementwise = elementwise
        # Whether Python's numbers have it as an operator, so that of them alone the result is weak.
        self.operator = False
        self.multiple_results = multiple_results
        # Whether it is run for what it does, so that programs keep it, though nothing reads its results.
        self.effect = False
        # Whether its equations are guards, at which paths of a program part.
        self.guards = False
        # Of a `ViewPrimitive`, what makes its results views.
        self.view: View | None = None
        # For up to three operands: what applies to bare values and records at once, by set of active operands.
        self.recorders: list[Callable[..., Any] | None] = [None] * 8
        self.recorders_with_params: list[Callable[..., Any] | None] = [None] * 8
        # The derivative's node makers by set of active operands, as they are first needed.
        self.node_makers: dict[int, Callable[..., Any]] = {}
        primitives[_key(name, module)] = self

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Apply to values of any kind: bare arrays run at once, tracers record."""
        return bind(self, operands, params)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __copy__(self) -> Self:
        """Return the record itself: there is one of each."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name, and the module that declares it."""
        keep_names()
        if self.name in _names_of_the_library:
            return primitive_named, (self.name,)
        if self.module is None:
            raise pickle.PicklingError(
                f"primitive {self.name}: it was pickled, and was declared without its module; needed the module, by "
                "which a pickle finds it again. Declare it with module=__name__."
            )
        if primitives.get(_key(self.name, self.module)) is not self:
            raise pickle.PicklingError(
                f"primitive {self.name}: it was pickled, and {self.module} has declared another of this name since; a "
                "pickle would mean the other. Make the graph anew, with the primitive that is declared now."
            )
        return primitive_named, (self.name, self.module)


class CompoundPrimitive(Primitive):
    """A primitive that is many operations of XLA's: programs there call it as a function, of which they have one."""

    __slots__ = ()


class ViewPrimitive(Primitive):
    """A primitive of one array whose result, in NumPy, shows a part of it; its traced results know of what."""

    __slots__ = ()

    def __init__(self, name: str, *, view: View | None = None, **rules: Any) -> None:
        super().__init__(name, **rules)
        self.view = view

    def __call__(self, *operands: Any, **params: Any) -> Any:
        y = bind(self, operands, params)
        if type(y) is not _NDARRAY and len(operands) == 1 and isinstance(y, Tracer):
            remember_view(y, operands[0], self, params)
        return y


# All that are declared: the library's by their names, others by module and name.
primitives: dict[str, Primitive] = {}
_names_of_the_library: set[str] = set()


def keep_names() -> None:
    """Declare all primitives of the library, and keep their names for it. Others declare theirs after this."""
    if not _names_of_the_library:
        load(implementing_rooms["primitives"]).declare_all()
        _names_of_the_library.update(primitives)


def _key(name: str, module: str | None) -> str:
    # A process that multiprocessing spawns imports the main module under a name of its own.
    module = "__main__" if module == "__mp_main__" else module
    return name if module is None else f"{module}:{name}"


def primitive_named(name: str, module: str | None = None) -> Primitive:
    """Return the primitive of a name, for what was pickled; the module that declares it is imported if need be."""
    key = _key(name, module)
    if module is not None and key not in primitives:
        with contextlib.suppress(ImportError):
            load(module)
    if module is None and key not in primitives:
        keep_names()
    found = primitives.get(key)
    if found is None:
        where = "" if module is None else f" in {module}"
        raise pickle.UnpicklingError(
            f"primitive {name}: it was pickled where it was declared{where}, and is not declared here. Import the "
            "module that declares it before you load."
        )
    return found

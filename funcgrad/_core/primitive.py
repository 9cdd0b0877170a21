"""The primitive: one record that holds everything known of an operation."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from funcgrad._core.bind import Tracer, bind
from funcgrad._core.forms import NO_FORMS, Forms
from funcgrad._core.lazy import implementing_rooms, load
from funcgrad._types import Value

_NDARRAY = np.ndarray


class Derivative(Protocol):
    """How a primitive with one result is differentiated. The kinds are in ``trace/derivative.py``."""

    def node_maker(self, primitive: Primitive, active: int) -> Callable[[Any, Any, Any, Any, dict], Any]:
        """Return the function that records an application, for a set of active operands (bit i: operand i).

        It is called with ``(trace, primals, nodes, y, params)``, and returns the tape's node, or ``None`` if the result
        has no derivative.
        """
        ...

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        """Return the tangent of the result. The tangent of an operand may be ``None``, which means zero."""
        ...


class JointDerivative(Protocol):
    """How a primitive with several results is differentiated. It runs the primitive itself, to choose what to keep."""

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        """Return ``(results, rule, kept)``; ``rule(y_bars, *kept)`` gives a cotangent or ``None`` per operand.

        ``rule`` is ``None`` if the results carry no derivative.
        """
        ...

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        """Return the results and their tangents; a tangent that is zero is ``None``."""
        ...


class View(NamedTuple):
    """How the result of a primitive shows a part of its operand, as a view in NumPy does.

    Args:
        put: ``put(x, part, **params)`` returns ``x`` with ``part`` in the place that the view shows. It is ``None`` if
            NumPy's view is read-only.
        shown: whether the result is a view with these parameters, ``shown(x_shape, params)``.
        may_copy: whether NumPy copies for some strides of the operand.
        same_in_cotangents: whether the cotangent of the view is the same view of the operand's cotangent.
        numpy: the function that makes the view in NumPy, if the primitive's own implementation copies.
    """

    put: Callable[..., Any] | None
    shown: Callable[[tuple[int, ...], dict], bool] = lambda shape, params: True
    may_copy: bool = False
    same_in_cotangents: bool = True
    numpy: Callable[..., Any] | None = None


def remember_view(y: Value, x: Value, primitive: Primitive, params: dict) -> None:
    """Store in a traced result the base that it is a view of, for later writes (``trace/place.py``).

    A place has it already, and what is no view of a place is no view of its memory.
    """
    if y._tells_views and y._owner is x._owner:
        y._viewed, y._viewed_by, y._viewed_at = x, primitive, params


def view(x: Tracer, primitive: Primitive, params: dict) -> Any:
    """Return a primitive's view of a tracer, by the shortest way."""
    y = x._owner.apply(primitive, (x,), params)
    if type(y) is type(x) and y._tells_views and y._owner is x._owner:
        y._viewed, y._viewed_by, y._viewed_at = x, primitive, params
    return y


class Primitive:
    """An operation with its implementations and rules, declared in one place.

    Args:
        name: the name that graphs print. The library's own names are taken.
        operands: the names by which derivative rules ask for operands, in order; ``"*xs"`` for a variadic primitive.
        numpy: the implementation on NumPy values, ``numpy(*operands, **params)``.
        xla: the name of a ``jax.lax`` function, or ``xla(lax, *operands, **params)``.
        aval: the shape and dtype rule, ``aval(*avals, **params)``. It returns a list if there are several results.
        derivative: one of the kinds in ``trace/derivative.py``; a ``JointDerivative`` if there are several results.
        batch: the batching rule, ``batch(primitive, size, operands, batched, params)``; see `BatchTrace`.
        cost: floating-point operations, ``cost(y_aval, *avals, **params)``.
        elementwise: whether operands broadcast against each other and may be Python scalars.
        forms: what else engines and the simplifier know of it.
        multiple_results: whether it gives a list of results.
        module: the ``__name__`` of the module that declares it. Graphs that hold the primitive can then be pickled:
            they refer to it by module and name. If a module declares a name again, the later record is used.

    Raises:
        ValueError: the library has a primitive of this name.

    Example:
        The elements in reverse order:

        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import extend
        >>> backwards_p = extend.Primitive(
        ...     "backwards",
        ...     operands=("x",),
        ...     numpy=lambda x: x[::-1].copy(),
        ...     xla=lambda lax, x: lax.rev(x, (0,)),
        ...     aval=lambda x: x,
        ...     derivative=extend.Multilinear(("x",), [lambda y_bar: backwards_p(y_bar)]),
        ...     batch=None,
        ...     cost=lambda y, x: 0,
        ... )
        >>> fg.grad(lambda x: np.sum(backwards_p(x) * np.arange(3.0)))(np.ones(3))
        array([2., 1., 0.])
    """

    __slots__ = (
        "aval",
        "batch",
        "cost",
        "derivative",
        "effect",
        "elementwise",
        "fails",
        "forms",
        "guards",
        "keeps_type",
        "module",
        "multiple_results",
        "name",
        "node_makers",
        "numpy",
        "operands",
        "operator",
        "positions",
        "recorders",
        "recorders_with_params",
        "rounds",
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
                f"primitive {name}: the library has a primitive of this name already; needed another name, because "
                "pickled graphs refer to the library's primitives by name. "
                f"Call it 'my_{name}', for example."
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
        # Whether the result of equal types has that type, unless the type is weak.
        self.keeps_type = False
        # Whether Python's numbers have it as an operator, so that its result of weak numbers is weak.
        self.operator = False
        self.multiple_results = multiple_results
        # Whether it is run for its effect. Programs keep such an equation even if nothing reads its results.
        self.effect = False
        # Whether its equations are guards: conditions that select one of several recorded paths of a program.
        self.guards = False
        # Whether it rounds to a number of digits (``decimals``), which programs do for people, and which has no
        # derivative.
        self.rounds = False
        # Whether NumPy's implementation raises an error for some numbers. XLA gives NaN or infinity there.
        self.fails = False
        # Returns for each operand the length of the axis along which its integers are positions; ``None`` for other
        # operands. NumPy raises if positions are out of bounds. Called as ``positions(*operand_avals, **params)``.
        self.positions: Callable[..., Sequence[int | None]] | None = None
        # How the results are views, if it is a `ViewPrimitive`.
        self.view: View | None = None
        # For up to three operands: the functions that run on bare values and record at once, by set of active operands.
        self.recorders: list[Callable[..., Any] | None] = [None] * 8
        self.recorders_with_params: list[Callable[..., Any] | None] = [None] * 8
        # The derivative's node makers by set of active operands. They are made when they are first needed.
        self.node_makers: dict[int, Callable[..., Any]] = {}
        primitives[_key(name, module)] = self

    def __call__(self, *operands: Value, **params: Any) -> Any:
        """Apply the primitive to values of any kind."""
        return bind(self, operands, params)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __copy__(self) -> Self:
        """Return the record itself: a primitive has only one record."""
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
                f"primitive {self.name}: it cannot be pickled, because it was declared without its module; needed the "
                "module, by which a pickle finds it again. Declare it with module=__name__."
            )
        if primitives.get(_key(self.name, self.module)) is not self:
            raise pickle.PicklingError(
                f"primitive {self.name}: it cannot be pickled, because {self.module} has declared another primitive of "
                "this name since, and the pickle would refer to that one. Make the graph again, with the primitive "
                "that is declared now."
            )
        return primitive_named, (self.name, self.module)


class CompoundPrimitive(Primitive):
    """A primitive that consists of many XLA operations.

    A compiled program holds it once, as a function, and calls it.
    """

    __slots__ = ()


class ViewPrimitive(Primitive):
    """A primitive of one array whose NumPy result is a view. Its traced results keep their base."""

    __slots__ = ()

    def __init__(self, name: str, *, view: View | None = None, **rules: Any) -> None:
        super().__init__(name, **rules)
        self.view = view

    def __call__(self, *operands: Value, **params: Any) -> Any:
        y = bind(self, operands, params)
        if type(y) is not _NDARRAY and len(operands) == 1 and isinstance(y, Tracer):
            remember_view(y, operands[0], self, params)
        return y


# All declared primitives: the library's by name, others by module and name.
primitives: dict[str, Primitive] = {}
_names_of_the_library: set[str] = set()


def keep_names() -> None:
    """Declare all primitives of the library and reserve their names. Primitives of users come after this call."""
    if not _names_of_the_library:
        load(implementing_rooms["primitives"]).declare_all()
        _names_of_the_library.update(primitives)


def _key(name: str, module: str | None) -> str:
    # In a process that multiprocessing spawned, the main module has another name.
    module = "__main__" if module == "__mp_main__" else module
    return name if module is None else f"{module}:{name}"


def primitive_named(name: str, module: str | None = None) -> Primitive:
    """Return the primitive of a name from a pickle. The module that declares it is imported if needed."""
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

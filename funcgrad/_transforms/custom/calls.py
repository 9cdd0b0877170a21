"""One call of a function with its own derivative: the user's functions of pytrees as functions of flat lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import Tracer, active_trace, is_engine_value, is_value
from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.same import same_value
from funcgrad._core.graph.simplify import simplify
from funcgrad._core.trace.place import own, settled
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.copy import fresh
from funcgrad._ops.program.custom_batch import Backward
from funcgrad._transforms.base.arguments import name_of, returned, taken
from funcgrad._transforms.base.bodies import body_trace
from funcgrad._types import Array, PyTree, Value
from funcgrad.errors import NotDifferentiableError, TreeMismatchError
from funcgrad.numpy.extend import array_as, array_like_argument, array_test, as_value, with_kinds
from funcgrad.tree import TreeDef, flatten, flatten_up_to, unflatten


class CustomCall:
    """A call, flattened: its array leaves, and the way to rebuild the arguments."""

    out_tree: TreeDef
    # The leaves of the function's own result.
    _returned: Sequence[Any]
    # The level of the trace that takes the call. The user's rule runs at once, below this trace.
    level: int | None = None
    __hash__: Any = None

    def __init__(self, f: Callable[..., Any], args: tuple, kwargs: dict, nondiff: Sequence[int]) -> None:
        self.function = f
        self.name = name_of(f)
        self._count = len(args)
        self._kwargs = kwargs
        fixed = {i % len(args) for i in nondiff if -len(args) <= i < len(args)}
        self.fixed = {i: args[i] for i in sorted(fixed)}
        dynamic = tuple([x for i, x in enumerate(args) if i not in fixed])
        found, self.in_tree = flatten(dynamic)
        self.leaves = [taken(x) for x in found]

    def check_leaves(self) -> None:
        for x in self.leaves:
            if not is_value(x):
                raise TypeError(
                    f"{self.name}: an argument of this custom function is a {type(x).__name__}; needed arrays in "
                    "pytrees. Name the position of what is no array in nondiff_argnums."
                )

    def apply(self, f: Callable[..., Any], xs: Sequence[Any]) -> Any:
        """Apply a function of the original arguments to other leaves."""
        dynamic = iter(self.arguments(xs))
        return f(*[self.fixed[i] if i in self.fixed else next(dynamic) for i in range(self._count)], **self._kwargs)

    def __eq__(self, other: object) -> bool:
        """Return whether two calls ran the same function on leaves of the same structure."""
        return isinstance(other, CustomCall) and same_value(self._form(), other._form())

    def _form(self) -> tuple[Any, ...]:
        # A call that did not run yet has no result, so it equals no other. Writes tell arrays and numbers apart.
        ran = "out_tree" in vars(self)
        result = with_kinds(self._returned, self.out_tree, None) if ran else id(self)
        return self.function, self.in_tree, self._count, self._kwargs, self.fixed, result

    def arguments(self, xs: Sequence[Any]) -> Any:
        """Return the differentiable arguments with other leaves, which are arrays without axes where they were."""
        return unflatten(self.in_tree, list(map(array_like_argument, xs, self.leaves)))

    def result(self, ys: Sequence[Any]) -> Any:
        """Return these values as the function's result, which are arrays without axes where its own were."""
        return unflatten(self.out_tree, list(map(array_as, ys, self._returned)))

    def stage(self) -> Graph:
        """Return the graph of the function itself."""
        return staged(lambda xs: self.settle(self.apply(self.function, xs)), self.leaves, self.name)

    def settle(self, out: Value) -> list[Any]:
        """Return the leaves of the function's result as arrays, and store its structure."""
        self._returned, self.out_tree = flatten(out)
        return [as_array(returned("a custom rule", self.name, x)) for x in self._returned]

    def value(self, xs: Sequence[Any]) -> list[Any]:
        """Return the result for other leaves that no trace takes, such as tensors outside of recording."""
        return run(lambda leaves: self.settle(self.apply(self.function, leaves)), xs, self.name)

    def check_closure(self, values: Sequence[Any], xs: Sequence[Any]) -> None:
        """Refuse results that depend on the running trace although no argument does: they came from a closure."""
        if self.level is not None and self._are_traced(values) and not self._are_traced(xs):
            raise NotDifferentiableError(
                f"{self.name}: the function or its rule closes over a value that is being differentiated; a custom "
                "rule has derivatives by arguments only. Pass the value as an argument."
            )

    def _are_traced(self, values: Sequence[Any]) -> bool:
        # The level of tensors is 0, and `level_of` returns 0 for bare values too.
        return any(isinstance(x, Tracer) and x._owner.level >= (self.level or 0) for x in values)


def as_array(x: Value) -> Array:
    """Return a result leaf as a value with a shape and a dtype."""
    x = as_value(x)
    return x if hasattr(x, "dtype") else np.asarray(x)[()]


def _zeros(aval: Aval) -> Array:
    return np.zeros(aval.shape, aval.dtype)[()]


def _refuse_imaginary(what: str, x: Array, aval: Aval) -> None:
    """Refuse a complex derivative by a real value: a conversion would drop its imaginary part."""
    if x.dtype.kind == "c" and aval.dtype.kind != "c":
        raise TreeMismatchError(
            f"{what} {aval_of(x)} for a real value {aval}; needed a real one. Return its real part, np.real(...), if "
            "its imaginary part is zero, or correct the rule."
        )


def _own(fitted: Any, y: Value) -> Array:
    """Return a derivative in memory of its own: the user's rule may return an array that other code refers to."""
    return fresh(fitted, y) if type(y) is np.ndarray else fitted


def staged(f: Callable[[list], list], xs: Sequence[Any], name: str) -> Graph:
    """Return the graph of a function of a flat list, for values like these."""
    trace = body_trace(name, xs)
    # A rule may call its own function, whose rule is not staged once more.
    trace.is_differentiated = False
    inputs: list[Any] = [trace.input(aval_of(x), array_test(x)) for x in xs]
    with trace:
        return simplify(trace.graph(f(inputs), name))


def run(f: Callable[[list], list], xs: Sequence[Any], name: str) -> list:
    """Run the user's function. If NumPy's functions in it would get bare values of another engine, run its graph."""
    if any(is_engine_value(x) for x in xs):
        return staged(f, xs, name).evaluate(*xs)
    # The function may write into its arguments, and the caller must not see it.
    trace = active_trace()
    given = [own(x, trace) for x in xs]
    # An argument that is returned unchanged may be a place, which code that flattens results does not expect.
    return [settled(y) for y in f(given)]


class _Structure(NamedTuple):
    """The structure of one result of a user's forward function."""

    out_tree: TreeDef
    residual_tree: TreeDef
    # Residuals that are no arrays (an axis, a function). ``_MOVED`` stands for an array, which the tape keeps.
    leaves: list[Any]


_MOVED = object()


class _Staged(NamedTuple):
    """A user's rule that was staged where the function was called: its graph, and what it returned."""

    graph: Graph
    returned: Any


class VjpOfCall:
    """The pair of functions of ``custom_vjp``, on the flat lists of one call."""

    _staged: _Staged | None = None

    # It belongs to one call, so no other program is looked up for it. The paths of a program compare them.
    __hash__: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VjpOfCall) and same_value(self._form(), other._form())

    def _form(self) -> tuple[Any, ...]:
        return self._call, self._forward, self._backward, self.pushes, self.instantiate, self._staged

    def __init__(
        self,
        call: CustomCall,
        forward: Callable[..., Any],
        backward: Callable[..., Any],
        pushes: JvpOfCall | None = None,
        instantiate: bool = True,
    ) -> None:
        self.name = call.name
        self.pushes = pushes
        self.instantiate = instantiate
        self.arity = len(call.leaves)
        self._call = call
        self._forward = forward
        self._backward = backward
        self._avals: list[Aval] = [aval_of(x) for x in call.leaves]

    def value(self, xs: Sequence[Any]) -> list[Any]:
        return self._call.value(xs)

    def stage(self) -> None:
        """Stage the forward function for a later derivative: what it closes over may change until then."""
        returned: list[Any] = []
        graph = staged(partial(self._flat, returned), self._call.leaves, self.name)
        if not any(isinstance(value, Tracer) for _, value in graph.constants):
            self._staged = _Staged(graph, returned)
        if self.pushes is not None:
            self.pushes.stage()

    def forward(self, xs: Sequence[Any]) -> tuple[list, list, Backward]:
        returned: list[Any] = []
        if self._staged is None:
            results = run(partial(self._flat, returned), xs, self.name)
        else:
            graph, returned = self._staged
            results = graph.evaluate(*xs)
        self._call.check_closure(results, xs)
        count, structure = returned
        return results[:count], results[count:], partial(self._pulled, structure)

    def _flat(self, returned: list[Any], xs: Sequence[Any]) -> list[Any]:
        """Run the forward function; note the number of its results and the structure of what it returned."""
        ys, residuals, structure = self._split(self._call.apply(self._forward, xs))
        returned[:] = len(ys), structure
        return [*ys, *residuals]

    def _split(self, pair: Any) -> tuple[list, list, _Structure]:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"custom_vjp: the forward function of {self.name} returned a {type(pair).__name__}; needed a pair "
                "(out, residuals). Return both, None where no residuals are needed."
            )
        found, residual_tree = flatten(pair[1])
        ys = self._call.settle(pair[0])
        leaves = [_MOVED if is_value(x) else x for x in found]
        return ys, [x for x in found if is_value(x)], _Structure(self._call.out_tree, residual_tree, leaves)

    def _pulled(self, structure: _Structure, residuals: Sequence[Any], y_bars: Sequence[Any]) -> list[Any]:
        """Return the cotangents by the user's backward function, for residuals of this structure."""
        call, moved, mask = self._call, len(residuals), []
        used = [y_bar is not None for y_bar in y_bars]

        def flat(values: list) -> list:
            kept = iter(values[:moved])
            leaves = [next(kept) if x is _MOVED else x for x in structure.leaves]
            tree = unflatten(structure.residual_tree, leaves)
            rest = iter(values[moved:])
            out_bars = unflatten(structure.out_tree, [next(rest) if flag else None for flag in used])
            bars = self._checked(self._backward(*call.fixed.values(), tree, out_bars))
            mask[:] = [bar is not None for bar in bars]
            return [bar for bar in bars if bar is not None]

        given = [*residuals, *[y_bar for y_bar in y_bars if y_bar is not None]]
        found = iter(run(flat, given, f"vjp_{self.name}"))
        return [next(found) if present else None for present in mask]

    def _checked(self, bars: PyTree) -> list:
        """Return a cotangent or ``None`` per leaf, in the types of the leaves."""
        subtrees = self._call.in_tree.children()
        if not isinstance(bars, tuple | list) or len(bars) != len(subtrees):
            arrived = f"{len(bars)} values" if isinstance(bars, tuple | list) else f"a {type(bars).__name__}"
            raise TreeMismatchError(
                f"custom_vjp: the backward function of {self.name} returned {arrived}; needed a tuple with a "
                f"cotangent for each of its {len(subtrees)} differentiable arguments. Return None for one that is zero."
            )
        flat: list[Any] = []
        for i, (bar, subtree) in enumerate(zip(bars, subtrees, strict=True)):
            what = f"custom_vjp: the cotangent of argument {i} of {self.name}"
            empty = bar is None and subtree.num_leaves > 0
            flat += [None] * subtree.num_leaves if empty else flatten_up_to(subtree, bar, what)
        return [self._fitted(bar, aval) for bar, aval in zip(flat, self._avals, strict=True)]

    def _fitted(self, bar: PyTree, aval: Aval) -> Any:
        if bar is None or not is_inexact(aval.dtype):
            return None
        bar = as_array(bar)
        if bar.shape != aval.shape:
            raise TreeMismatchError(
                f"custom_vjp: the backward function of {self.name} returned a cotangent {aval_of(bar)} for an argument "
                f"{aval}; needed the argument's shape. Sum over the axes in which it was broadcast."
            )
        _refuse_imaginary(f"custom_vjp: the backward function of {self.name} returned a cotangent", bar, aval)
        return _own(cast(bar, aval.dtype), bar)


class JvpOfCall:
    """The rule of ``custom_jvp``, on the flat lists of one call."""

    _staged: Graph | None = None

    # As in `VjpOfCall`.
    __hash__: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JvpOfCall) and same_value(self._form(), other._form())

    def _form(self) -> tuple[Any, ...]:
        return self._call, self._push, self._staged

    def __init__(self, call: CustomCall, push: Callable[..., Any]) -> None:
        self.name = call.name
        self.arity = len(call.leaves)
        self._call = call
        self._push = push

    def value(self, xs: Sequence[Any]) -> list[Any]:
        return self._call.value(xs)

    def stage(self) -> None:
        """Stage the rule, as in `VjpOfCall.stage`."""
        xs = self._call.leaves
        graph = staged(self._flat, [*xs, *self._moving(xs, xs)], f"jvp_{self.name}")
        if not any(isinstance(value, Tracer) for _, value in graph.constants):
            self._staged = graph

    def _moving(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> list[Any]:
        return [x_dot for x_dot, x in zip(x_dots, xs, strict=True) if is_inexact(aval_of(x).dtype)]

    def _flat(self, values: Sequence[Any]) -> list[Any]:
        call, moving = self._call, iter(values[self.arity :])
        avals = map(aval_of, values[: self.arity])
        # The rule may give the tangent of an integer to `jvp`, which has to know that it is zero.
        dots = [next(moving) if is_inexact(aval.dtype) else _zeros(aval) for aval in avals]
        tangents = unflatten(call.in_tree, dots)
        return self._split(self._push(*call.fixed.values(), call.arguments(values[: self.arity]), tangents))

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        given, graph = [*xs, *self._moving(xs, x_dots)], self._staged
        results = run(self._flat, given, f"jvp_{self.name}") if graph is None else graph.evaluate(*given)
        count = len(results) // 2
        self._call.check_closure(results[:count], xs)
        return results[:count], results[count:]

    def _split(self, pair: Any) -> list:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"custom_jvp: the rule of {self.name} returned a {type(pair).__name__}; needed a pair (out, out_dot). "
                "Return the result and its tangent."
            )
        ys = self._call.settle(pair[0])
        y_dots = flatten_up_to(
            self._call.out_tree, pair[1], f"custom_jvp: the tangent that the rule of {self.name} gave"
        )
        return [*ys, *[self._fitted(y_dot, aval_of(y)) for y, y_dot in zip(ys, y_dots, strict=True)]]

    def _fitted(self, y_dot: PyTree, aval: Aval) -> Array:
        if y_dot is None or not is_inexact(aval.dtype):
            return _zeros(aval)
        y_dot = as_array(y_dot)
        if y_dot.shape != aval.shape:
            raise TreeMismatchError(
                f"custom_jvp: the rule of {self.name} returned a tangent {aval_of(y_dot)} for a result {aval}; needed "
                "the result's shape. Broadcast or reduce it."
            )
        _refuse_imaginary(f"custom_jvp: the rule of {self.name} returned a tangent", y_dot, aval)
        return _own(cast(y_dot, aval.dtype), y_dot)

"""Convert the user's functions that SciPy calls into graphs, with all traced values as arguments.

The function runs once on abstract values. Traced values among its further arguments or in its closure become *operands*
of the graph. The program that SciPy calls and the programs of its derivatives are compiled from this graph, once for
all calls that give the same graph.

A function that branches on its numbers has no graph. It runs as it is, and only the traced values among its arguments
are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Tracer, active_trace, untraced
from funcgrad._core.graph.ir import Graph, trusted_graph
from funcgrad._core.graph.key import canonical
from funcgrad._core.graph.same import same_value
from funcgrad._core.graph.simplify import simplify
from funcgrad._core.trace.path import PathTrace
from funcgrad._core.trace.place import settled
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._engines import NUMPY, is_abstract
from funcgrad._ops.program.callback import callback_p
from funcgrad._ops.program.custom import custom_jvp_p, runs_at_once
from funcgrad._ops.program.derived import staged_graph
from funcgrad._ops.program.guard import answer_to, record_guard
from funcgrad._types import Arguments, Array, ArrayLike, PyTree
from funcgrad.errors import NotDifferentiableError
from funcgrad.numpy.extend import as_value
from funcgrad.random.extend import DrawCheck
from funcgrad.tree import flatten, unflatten

# A function from flat values to a flat list of values, plain or traced.
Flat = Callable[..., list[Any]]


class Closed(NamedTuple):
    """A function of flat values: first its own arguments, then its operands."""

    name: str
    evaluate: Flat
    graph: Graph | None
    # The error that prevented a graph.
    why: Exception | None = None

    def program(self) -> Flat:
        """Return the function on plain arrays, as SciPy calls it."""
        if self.graph is not None:
            return self.graph.made(NUMPY.compile)

        return plainly(self.name, self.evaluate, self.why)

    def at(self, *xs: ArrayLike) -> list[Any]:
        """Return the function on values of any kind; plain values run its program."""
        return self.evaluate(*xs) if any(map(is_traced, xs)) else self.program()(*map(np.asarray, xs))

    def derived(self, make: Callable[..., Flat], avals: Sequence[Aval], *key: Any) -> Closed:
        """Return the function that ``make(evaluate, *key)`` derives from this one, for values of these types."""
        if self.graph is None:
            return Closed(self.name, make(self.evaluate, *key), None, self.why)
        graph = self.graph.made(_derived, make, tuple(avals), *key)
        return Closed(self.name, graph.evaluate, graph)


class ReadsTracedError(NotDifferentiableError):
    """A function that branches on its numbers closes over a traced value."""


def refuse_closure(name: str, why: Exception | None) -> NoReturn:
    """Refuse a function that branches on its numbers and closes over a traced value."""
    raise ReadsTracedError(
        f"{name}: the function branches on the numbers of its arguments, and closes over a traced value; a "
        "function that branches has derivatives only by its arguments. Pass the value in args, or choose with "
        "np.where."
    ) from why


def on_path(f: Closed, *numbers: np.ndarray) -> tuple[Closed, list[Any]]:
    """Return a function that branches as the graph of its path at these numbers, and the values that it closes over."""
    trace = PathTrace(f.name, record_guard, answer_to)
    inputs = [trace.input_with(aval_of(x), x[()]) for x in numbers]
    with trace:
        graph = trace.graph(f.evaluate(*inputs), f.name)
    # The path is right close to these numbers, so nothing has to be checked there.
    equations = [equation for equation in graph.equations if not equation.primitive.guards]
    return _with_operands(simplify(trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, f.name)))


def _derived(graph: Graph, make: Callable[..., Flat], avals: Sequence[Aval], *key: Any) -> Graph:
    return staged_graph(make(graph.evaluate, *key), avals, f"{make.__name__.strip('_')}_{graph.name}")


def is_traced(x: object) -> bool:
    """Return whether a value is traced by a transform of ours or of another engine."""
    return isinstance(x, Tracer) or is_abstract(x)


def traced_leaves(tree: PyTree) -> list[Any]:
    """Return the traced values in a pytree."""
    return [x for x in map(settled, flatten(tree)[0]) if is_traced(x)]


def plainly(name: str, f: Callable[..., Any], why: Exception | None = None) -> Callable[..., Any]:
    """Return a function that runs outside all transforms; its results must be plain.

    Args:
        name: the calling function, for messages.
        f: the function.
        why: the error that it raised for unknown numbers.
    """

    def run(*xs: ArrayLike) -> Any:
        with untraced():
            y = f(*xs)
        if traced_leaves(y):
            refuse_closure(name, why)
        return y

    return run


def nothing_traced(*values: ArrayLike) -> bool:
    """Return whether no transform is running that a function could close over, and none of these values is traced."""
    return active_trace() is None and not traced_leaves(values)


def refuse_traced(name: str, options: dict[str, Any]) -> None:
    """Refuse traced options: a solution has no derivative with respect to them."""
    for option, value in options.items():
        if traced_leaves(value):
            raise NotDifferentiableError(
                f"{name}: the option {option} is traced; needed plain numbers, because the solution has no derivative "
                "with respect to it. Take it from fg.stop_gradient(x), or make it a static argument."
            )


def close(
    name: str, f: Callable[..., Any], avals: Sequence[Aval], args: Arguments, settle: Callable[[Any], list[Any]]
) -> tuple[Closed, list[Any]]:
    """Return a function with its operands.

    Args:
        name: the calling function, for messages.
        f: a function of its own arguments, then ``args``.
        avals: the types of its own arguments.
        args: further arguments, pytrees.
        settle: converts the function's result to a flat list of arrays.
    """
    staging = StagingTrace(name, copies=True)
    inputs = [staging.input(aval) for aval in avals]
    with DrawCheck(name, "its function", f, is_body=True), staging:
        try:
            out = f(*inputs, *args)
        except Warning:
            raise
        except Exception as error:  # noqa: BLE001  (a user's function may raise anything, and will again on numbers)
            return _as_it_is(name, f, len(avals), args, settle, error)
        graph = simplify(staging.graph(settle(out), name))
    return _with_operands(graph)


def _with_operands(graph: Graph) -> tuple[Closed, list[Any]]:
    """Return a graph as a function whose traced constants are operands, and these."""
    hidden = [(var, x) for var, x in graph.constants if is_traced(x)]
    constants = [(var, np.asarray(x)) for var, x in graph.constants if not is_traced(x)]
    inputs = [*graph.inputs, *[var for var, _ in hidden]]
    graph = canonical(trusted_graph(inputs, constants, graph.equations, graph.outputs, graph.name))
    return Closed(graph.name, graph.evaluate, graph), [x for _, x in hidden]


def _as_it_is(
    name: str, f: Callable[..., Any], count: int, args: Arguments, settle: Callable[[Any], list[Any]], why: Exception
) -> tuple[Closed, list[Any]]:
    found, in_tree = flatten(args)
    leaves = list(map(settled, found))
    places = [i for i, x in enumerate(leaves) if is_traced(x)]

    def evaluate(*xs: ArrayLike) -> list[Any]:
        whole = list(leaves)
        for i, x in zip(places, xs[count:], strict=True):
            whole[i] = x
        return settle(f(*xs[:count], *unflatten(in_tree, whole)))

    return Closed(name, evaluate, None, why), [leaves[i] for i in places]


def settled_array(y: ArrayLike) -> Array:
    """Return the result of a user's function (a list, an array of objects) as one array."""
    y = settled(as_value(y))
    return y if hasattr(y, "dtype") else np.asarray(y)[()]


def solved(rule: Solver, operands: Sequence[Any]) -> list[Any]:
    """Return the solution of a solver for these operands; its derivative is the solver's rule."""
    operands = list(map(settled, operands))
    if not any(map(is_traced, operands)):
        return rule.run(*operands)
    if runs_at_once(operands) is not None:
        return custom_jvp_p(*operands, graph=None, rule=rule)
    graph = staged_graph(rule.run, list(map(aval_of, operands)), rule.name)
    return custom_jvp_p(*operands, graph=graph, rule=rule)


class Solver:
    """A solver of SciPy's that is called on plain arrays, with a derivative rule for its results.

    Args:
        name: SciPy's function.
        arity: the number of operands.
    """

    # A solver belongs to one call, so no other program is looked up for it. The paths of a program compare solvers.
    __hash__: Any = None

    def __init__(self, name: str, arity: int) -> None:
        self.name = name
        self.arity = arity
        # Nested transforms need the same solution, each for its own derivative.
        self._last: tuple[list[bytes], list[np.ndarray]] | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether another solver solves the same problem."""
        return type(other) is type(self) and same_value(vars(self) | {"_last": None}, vars(other) | {"_last": None})

    @property
    def avals(self) -> list[Aval]:
        """Return the types of the results."""
        raise NotImplementedError

    def solve(self, *xs: np.ndarray) -> list[np.ndarray]:
        """Return the results for plain operands."""
        raise NotImplementedError

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        """Return results and their tangents, linear in the operands' tangents."""
        raise NotImplementedError

    def run(self, *operands: ArrayLike) -> list[Any]:
        """Return the results for operands of any engine; a staged program calls back to the host."""
        return callback_p(*operands, function=self._once, avals=tuple(self.avals), name=self.name)

    def remember(self, xs: Sequence[np.ndarray], ys: list[np.ndarray]) -> None:
        """Return the results for these operands from the cache, or solve."""
        self._last = [x.tobytes() for x in xs], ys

    def _once(self, *xs: np.ndarray) -> list[np.ndarray]:
        key = [x.tobytes() for x in xs]
        last = self._last
        if last is None or last[0] != key:
            last = self._last = key, self.solve(*xs)
        # Copy, so that a caller who writes into a result does not change the cache.
        return [y.copy() for y in last[1]]

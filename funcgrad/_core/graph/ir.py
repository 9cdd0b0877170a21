"""The graph: an immutable program of primitives.

graph    ::= inputs, constants, equations, outputs
equation ::= results = primitive[params] operands
operand  ::= variable | literal
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import bind, is_value
from funcgrad._core.graph.check import check_graph, check_sequences, has_type
from funcgrad._core.graph.equation import Equation, Literal, Operand, Var
from funcgrad._core.graph.line import Line, around, replays, within
from funcgrad._core.graph.program import GraphMethods
from funcgrad._core.lazy import LazyModule
from funcgrad._core.tracebacks import folded
from funcgrad._public import published_as
from funcgrad._types import Value
from funcgrad.errors import TreeMismatchError
from funcgrad.tree import TreeDef, flatten_up_to, key_path_str, unflatten

if TYPE_CHECKING:
    pass

T = TypeVar("T")

_ABSENT: Any = object()
# Most programs never print a graph.
_text = LazyModule("funcgrad._core.graph.show")


@published_as("funcgrad")
class Graph(GraphMethods):
    """An immutable program. A call evaluates it on NumPy values, ``jax.Array`` s or tracers.

    Do not change its equations and variables in place: programs that were made of them are kept, and run on.

    Args:
        inputs: variables bound by the arguments, in order.
        constants: variables with their values.
        equations: in an order that defines each operand before it is read.
        outputs: variables or literals.
        name: the name of the function that the graph was made from.
        trees: the structures of arguments and result, if the function takes pytrees.

    Raises:
        GraphError: the program is not valid; see `fg.extend.check_graph`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> graph = fg.make_graph(lambda x: np.sum(x * x))(np.ones(3))
        >>> [equation.primitive.name for equation in graph.equations]
        ['mul', 'reduce_sum']
        >>> graph(np.array([1.0, 2.0, 3.0]))
        np.float64(14.0)

        A pass makes another graph from its parts:

        >>> (square, _), constants = graph.equations, graph.constants
        >>> squares = fg.Graph(graph.inputs, constants, [square], square.results, "squares")
        >>> squares(np.array([1.0, 2.0, 3.0]))
        [array([1., 4., 9.])]
    """

    __slots__ = ("__weakref__", "_made", "constants", "equations", "inputs", "name", "outputs", "trees")

    def __init__(
        self,
        inputs: Sequence[Var],
        constants: Sequence[tuple[Var, Any]],
        equations: Sequence[Equation],
        outputs: Sequence[Operand],
        name: str = "graph",
        trees: tuple[TreeDef, TreeDef] | None = None,
    ) -> None:
        check_sequences(name, inputs=inputs, constants=constants, equations=equations, outputs=outputs)
        self._fill(inputs, constants, equations, outputs, name, trees)
        check_graph(self)

    def _fill(
        self,
        inputs: Sequence[Var],
        constants: Sequence[tuple[Var, Any]],
        equations: Sequence[Equation],
        outputs: Sequence[Operand],
        name: str,
        trees: tuple[TreeDef, TreeDef] | None,
    ) -> None:
        self.inputs = tuple(inputs)
        self.constants = tuple(constants)
        self.equations = tuple(equations)
        self.outputs = tuple(outputs)
        self.name = name
        self.trees = trees
        self._made: dict[tuple, Any] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        # The programs that were made of the old equations would run on without a word.
        if hasattr(self, "_made"):
            raise AttributeError(
                f"graph {self.name}: {name} was to be changed; a graph is fixed. Make another fg.Graph."
            )
        object.__setattr__(self, name, value)

    def made(self, make: Callable[..., T], *key: Any) -> T:
        """Return ``make(graph, *key)``, such as a program or a derivative. It is made once and kept with the graph.

        Two threads that ask at the same time may both make it. Both get the result that was stored first.
        """
        entry = (make, *key)
        found = self._made.get(entry, _ABSENT)
        return self._made.setdefault(entry, make(self, *key)) if found is _ABSENT else found

    def with_trees(self, in_tree: TreeDef, out_tree: TreeDef) -> Graph:
        """Return the same program, called with arguments of structure ``in_tree`` (``(args, kwargs)``)."""
        return trusted_graph(self.inputs, self.constants, self.equations, self.outputs, self.name, (in_tree, out_tree))

    @folded
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate the graph on arguments of the structure it was staged with, or on a flat list of arrays."""
        results = self._evaluate_apart(self.bound(args, kwargs))
        return results if self.trees is None else unflatten(self.trees[1], results)

    def bound(self, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
        """Check the arguments of a call and return the values of the inputs."""
        if self.trees is None:
            return self._checked(args)
        leaves = flatten_up_to(self.trees[0], (args, kwargs), f"graph {self.name}: the arguments")
        return self._checked(leaves)

    def _checked(self, args: Sequence[Any]) -> list[Any]:
        """Return the flat arguments, each of the type of its input. A Python number gets the dtype of its input."""
        pairs = zip(args, self.inputs, strict=True)
        return [x if has_type(x, var.aval) else self._converted(i, x, var.aval) for i, (x, var) in enumerate(pairs)]

    def _converted(self, i: int, x: Value, needed: Aval) -> Any:
        arrived = aval_of(x) if is_value(x) else None
        number = arrived is not None and arrived.weak and needed.shape == ()
        if number and np.can_cast(aval_of(x).dtype, needed.dtype, "same_kind"):
            y = needed.dtype.type(x)
            return y.item() if needed.weak else y
        raise TreeMismatchError(
            f"graph {self.name}: {self.argument(i)} is {'a ' + type(x).__name__ if arrived is None else arrived}; "
            f"needed {needed}{', a Python number' if needed.weak else ''}, the type it was made for. Convert it, or "
            "make a graph for arguments like these with fg.make_graph."
        )

    def argument(self, i: int) -> str:
        """Describe the argument that gives an input, and the input's place in it, for messages and pictures."""
        if self.trees is None:
            return f"argument {i}"
        path = self.trees[0].accessors()[i]
        text = key_path_str(path[2:])
        return f"argument {path.path[1]}{f' at {text}' if text else ''}"

    def _evaluate_apart(self, args: Sequence[Any]) -> list[Any]:
        """Return the flat outputs with constants copied, so that a write to a result cannot change the program."""
        fixed = {id(value) for _, value in self.constants}
        return [y.copy() if type(y) is np.ndarray and id(y) in fixed else y for y in self.evaluate(*args)]

    def __str__(self) -> str:
        return _text.show(self)

    def __repr__(self) -> str:
        return _text.show(self, most=40)

    def evaluate(self, *args: Any) -> list[Any]:
        """Run the equations in order on flat arguments, and return the flat outputs."""
        values: dict[Any, Any] = dict(self.constants)
        values.update(zip(self.inputs, args, strict=True))
        for equation in self.equations:
            operands = tuple(x.value if type(x) is Literal else values[x] for x in equation.operands)
            y = bind(equation.primitive, operands, equation.params)
            if equation.primitive.multiple_results:
                values.update(zip(equation.results, y, strict=True))
            else:
                values[equation.results[0]] = y
        return [x.value if type(x) is Literal else values[x] for x in self.outputs]

    @folded
    def roll(self) -> Graph:
        """Return the same program, in which stretches of equations that repeat are loops (`scan`).

        A Python loop leaves one copy of its body for each round. If the rounds do the same to the next of their data,
        one copy is left. Rounds that differ stay as they are.

        Returns:
            The program with loops; this graph itself if nothing repeats.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> def decay(x, rates):
            ...     for rate in rates:
            ...         x = x - rate * np.sin(x)
            ...     return x
            >>> graph = fg.make_graph(decay)(np.ones(3), np.linspace(0.1, 0.2, 100))
            >>> len(graph.equations), len(graph.roll().equations)
            (400, 1)
        """
        return _rollers[0](self)

    @property
    def flops(self) -> int:
        """The number of floating-point operations of one evaluation, by the primitives' cost rules."""
        return sum(equation.flops for equation in self.equations)

    @property
    def bytes(self) -> int:
        """The number of bytes that one evaluation reads and writes if nothing were fused."""
        return sum(equation.bytes for equation in self.equations)


# ``roll(graph)``. The operations set it: loops are a primitive of theirs.
_rollers: list[Callable[[Graph], Graph]] = []


def set_roller(roll: Callable[[Graph], Graph]) -> None:
    """Set the pass behind `Graph.roll`."""
    _rollers[:] = [roll]


def _recorded(frame: FrameType, made_at: Any) -> Line | None:
    """Return the source line of the equation that `Graph.evaluate` is running."""
    equation = frame.f_locals.get("equation")
    return around(frame) if equation is None or equation.source is None else within(equation.source)


replays(Graph.evaluate, _recorded)


def trusted_graph(
    inputs: Sequence[Var],
    constants: Sequence[tuple[Var, Any]],
    equations: Sequence[Equation],
    outputs: Sequence[Operand],
    name: str = "graph",
    trees: tuple[TreeDef, TreeDef] | None = None,
) -> Graph:
    """Return a graph that one of our passes made, without a check.

    Inferring all types again would double a pass's time.
    """
    graph = object.__new__(Graph)
    graph._fill(inputs, constants, equations, outputs, name, trees)
    return graph

"""The methods of a graph: comparing, pickling, drawing, measuring and exporting it."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any, cast

from funcgrad._core.bind import Tracer
from funcgrad._core.graph.same import program_hash, same_program
from funcgrad._core.lazy import REPORTS, load
from funcgrad._core.tracebacks import folded

if TYPE_CHECKING:
    from funcgrad._core.graph.ir import Graph


class GraphMethods:
    """The methods of graphs. The rooms that know primitives and engines produce the reports."""

    __slots__ = ()

    def simplify(self) -> Graph:
        """Return the same function with fewer equations, as `jit` compiles it: equal to the last bit.

        It folds numbers, merges equal equations, drops equations that nothing needs, and applies rules that are exact
        for every number.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> graph = fg.make_graph(lambda x: 1.0 * np.sin(x) + np.sin(x))(np.ones(3))
            >>> [equation.primitive.name for equation in graph.simplify().equations]
            ['sin', 'add']
        """
        return _report("simplify", self)

    def to_dot(self) -> str:
        r"""Return the graph in Graphviz's language, with a node for each equation and an edge for each value it reads.

        Named blocks (`funcgrad.named`) are clusters. The backward pass has its own colour.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> print(fg.make_graph(np.sin)(np.ones(3)).to_dot())
            digraph "sin" {
            ...
              e0 [label="b = sin a\nf64[3]", ...];
            ...

        Source: the DOT language, https://graphviz.org/doc/info/lang.html.
        """
        return _report("to_dot", self)

    def show(self, path: str | os.PathLike[str]) -> None:
        """Write the graph as a page for a browser: one file that needs no network.

        The forward pass and the backward pass are side by side. A click folds or unfolds a named block
        (`funcgrad.named`) or the body of a loop. Long programs without names fold the iterations of their loops. A
        block folds together with its backward pass, and long programs are folded at first. Pointing at a box shows its
        equation, type, operations, bytes and line. Drag to move, turn the wheel to zoom, and search with ``/``.

        Args:
            path: the file to write, such as ``"loss.html"``.

        Example:
            >>> import numpy as np
            >>> import tempfile
            >>> import funcgrad as fg
            >>> graph = fg.make_graph(fg.grad(lambda x: np.sum(np.tanh(x))))(np.ones(3))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     graph.show(f"{folder}/tanh.html")
        """
        _report("show", self, path)

    def to_svg(self, path: str | os.PathLike[str], *, fold: bool | None = None) -> None:
        """Write the graph as a picture in SVG, in light colours and without scripts, for papers and pages.

        Args:
            path: the file to write, such as ``"loss.svg"``.
            fold: whether all blocks are folded, or none. ``None`` unfolds as many as stay readable.

        Example:
            >>> import numpy as np
            >>> import tempfile
            >>> import funcgrad as fg
            >>> graph = fg.make_graph(fg.grad(lambda x: np.sum(np.tanh(x))))(np.ones(3))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     graph.to_svg(f"{folder}/tanh.svg")
        """
        _report("to_svg", self, path, fold)

    @folded
    def profile(self, *args: Any, **kwargs: Any) -> Any:
        """Time each equation on NumPy, for these arguments.

        Equations run one by one, as they do without `jit`. A compiled program may fuse several equations into one loop
        and reuse memory. The time of a loop includes its body.

        Args:
            args: arguments as the graph takes them.
            kwargs: keyword arguments as the graph takes them.

        Returns:
            A table that prints itself, slowest first, with the lines of the program. ``rows`` has ``seconds``,
            ``share``, ``what``, ``line`` and ``equations`` of each; ``seconds`` is the sum, and ``by_line()`` adds up
            the equations of each line.

        Raises:
            TreeMismatchError: the arguments are not of the types that the graph was made for.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> x = np.ones((200, 200))
            >>> graph = fg.make_graph(fg.grad(lambda x: np.sum(np.tanh(x @ x))))(x)
            >>> print(graph.profile(x))
            grad_<lambda>: ... on NumPy, median of ...
            ...
        """
        return _report("profile", self, args, kwargs)

    @folded
    def to_python(self) -> str:
        """Return the program as the text of a Python file that needs NumPy alone (SciPy for SciPy's functions).

        The file holds one function with the graph's name. It takes the arguments in the same order and structure,
        checks their types, and computes what the NumPy engine computes. Each line names the line of the program that it
        comes from. Primitives that are no NumPy functions are written out as functions.

        Raises:
            UnsupportedFunctionError: a part of the program cannot be written out, and the message names it: a call of
                Python (`call_numpy`, `debug_print`, `tap`), a function written in JAX, or a pytree of the user's own
                class.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> def loss(w, x):
            ...     return np.sum(np.tanh(x @ w))
            >>> w, x = np.ones((3, 2)), np.ones(3)
            >>> text = fg.make_graph(fg.grad(loss))(w, x).simplify().to_python()
            >>> print(text[text.index("def grad_loss") :])
            def grad_loss(arg0, arg1):
                x0 = _checked(arg0, 'arg0', (3, 2), 'float64')
                x1 = _checked(arg1, 'arg1', (3,), 'float64')
                v2 = x1.dot(x0) ...
            ...
            >>> file = {}
            >>> exec(text, file)
            >>> np.array_equal(file["grad_loss"](w, x), fg.grad(loss)(w, x))
            True
        """
        return _report("to_python", self)

    @folded
    def to_stablehlo(self) -> str:
        """Return the program in StableHLO, XLA's input language, as a function of the flat inputs.

        Raises:
            ModuleNotFoundError: JAX, which writes it, is not installed.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> "stablehlo.tanh" in fg.make_graph(np.tanh)(np.ones(3)).to_stablehlo()
            True

        Source: the StableHLO specification, https://openxla.org/stablehlo/spec.
        """
        return _report("to_stablehlo", self)

    def _repr_html_(self) -> str:
        """Return the page of `show` for a notebook."""
        return _report("in_notebook", self)

    def __eq__(self, other: object) -> bool:
        """Return whether the other graph computes the same, with the same constants. Names and lines do not count."""
        return isinstance(other, GraphMethods) and same_program(cast("Graph", self), cast("Graph", other))

    def __hash__(self) -> int:
        return cast("Graph", self).made(program_hash)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the program: primitives by name, and functions as pickle does."""
        graph = cast("Graph", self)
        for equation in graph.equations:
            for name, value in equation.params.items():
                _check_picklable(f"graph {graph.name}: {equation.primitive.name}", name, value)
        for _, value in graph.constants:
            if isinstance(value, Tracer):
                raise pickle.PicklingError(
                    f"graph {graph.name}: it was pickled, and a constant of it is traced by a running "
                    f"{value._owner.transform}; needed numbers. Pickle a graph that was made outside of transforms."
                )
        return type(graph), (graph.inputs, graph.constants, graph.equations, graph.outputs, graph.name, graph.trees)


def _report(name: str, *args: Any, **options: Any) -> Any:
    return getattr(load(REPORTS[name]), name)(*args, **options)


def _check_picklable(where: str, name: str, value: Any) -> None:
    if issubclass(type(value), str | int | float | complex | None | GraphMethods):
        return
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise pickle.PicklingError(
            f"{where}: the graph was pickled, and {name} is {value!r}, which cannot be; needed functions that a module "
            "defines. Define it at the top of a module, or keep the code that makes the graph."
        ) from error

"""What a graph can be asked for: to be compared, kept, drawn, measured and written out."""

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


class Program:
    """The methods of graphs. What makes the reports lies above, where primitives and engines are known."""

    __slots__ = ()

    def simplify(self) -> Graph:
        """Return the same function with fewer equations, as `jit` compiles it: equal to the last bit.

        Numbers are folded, equations that are there twice are merged, those that nothing needs are dropped, and rules
        that are exact for every number are applied.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> graph = fg.make_graph(lambda x: 1.0 * np.sin(x) + np.sin(x))(np.ones(3))
            >>> [equation.primitive.name for equation in graph.simplify().equations]
            ['sin', 'add']
        """
        return _report("simplify", self)

    def to_dot(self) -> str:
        r"""Return the graph in Graphviz's language: a node for each equation, an edge for each value it reads.

        Named blocks (`funcgrad.named`) are clusters; the way back has a colour of its own.

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
        """Write the graph as a page that a browser opens: one file, which needs no network.

        The way there and the way back stand side by side. Named blocks (`funcgrad.named`), bodies of loops, and where a
        program is long without names the turns of its loops, fold and unfold at a click, a block together with its way
        back; long programs are folded at first. Pointing at a box shows its equation, type, operations, bytes and line.
        Drag to move, turn the wheel to come nearer, and search with ``/``.

        Args:
            path: where to write it, say ``"loss.html"``.

        Raises:
            ModuleNotFoundError: igraph, which lays it out, is not installed: ``pip install 'funcgrad[viz]'``.

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
            path: where to write it, say ``"loss.svg"``.
            fold: whether all blocks are folded, or none; ``None`` opens as many as can still be read.

        Raises:
            ModuleNotFoundError: igraph, which lays it out, is not installed: ``pip install 'funcgrad[viz]'``.

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
        """Time each equation on NumPy, on these arguments.

        Equations run one by one, as they do without `jit`, which puts several into one loop and writes over memory that
        nobody reads any more. Bodies of loops count with their loops.

        Args:
            args: arguments as the graph takes them.
            kwargs: likewise.

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
            grad_<lambda>: ... on NumPy, median of ... runs
            ...
        """
        return _report("profile", self, args, kwargs)

    @folded
    def to_python(self) -> str:
        """Return the program as the text of a Python file that needs NumPy alone (SciPy for what is SciPy's).

        It holds one function of the graph's name, which takes the arguments in the same order and structure, checks
        their types, and computes what the NumPy engine computes, line by line, each with the line of the program that
        it is from. What a primitive does beyond NumPy's functions comes along.

        Raises:
            UnsupportedFunctionError: the program holds what cannot be written out, which is named: calls of Python
                (`call_numpy`, `debug_print`, `tap`), functions written in JAX, structures of one's own classes.

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
        """Return the program in StableHLO, which XLA and its relatives read, as a function of the flat inputs.

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

    def _repr_html_(self) -> str | None:
        """The page of `show` in a notebook; the text where igraph is not installed."""
        return _report("in_notebook", self)

    def __eq__(self, other: object) -> bool:
        """Whether the other is a graph that computes the same, with the same constants; names and lines aside."""
        return isinstance(other, Program) and same_program(cast("Graph", self), cast("Graph", other))

    def __hash__(self) -> int:
        return cast("Graph", self).made(program_hash)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the program; of primitives their names, of functions in it what pickle makes of them."""
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
    if isinstance(value, str | int | float | complex | None | Program):
        return
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise pickle.PicklingError(
            f"{where}: the graph was pickled, and {name} is {value!r}, which cannot be; needed functions that a module "
            "defines. Define it at the top of a module, or keep the code that makes the graph."
        ) from error

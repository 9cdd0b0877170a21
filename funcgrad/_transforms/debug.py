"""``debug_nans``: names the first operation that makes a NaN or an infinity."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from funcgrad._core.bind import bind, lasting_traces, onlookers
from funcgrad._core.graph.ir import Graph, Literal, Var
from funcgrad._core.trace.checked import Checks, begin, check_result, checks
from funcgrad._ops.program.branch import Branches, While
from funcgrad._ops.program.scan import Loop
from funcgrad.tree import leaves

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

# The number of open contexts, in all threads.
_open = [0]
_opening = threading.Lock()


@contextlib.contextmanager
def debug_nans(infinities: bool = True) -> Iterator[None]:
    """Raise an error if an operation makes a NaN or an infinity out of finite numbers, and name it and its line.

    A NaN in the data raises no error in the forward pass. If a gradient reads it, the error names the operation.

    The checks work forward and backward, under every transform, and for tensors. The results of a compiled function are
    checked, and if they are not finite, its program runs again operation by operation. So only values that reach its
    results count. Compiled functions inside of a gradient run operation by operation. For arrays that no transform
    traces, use ``np.errstate``.

    A check takes 1 to 2 us for each operation, which less than doubles the time.

    Args:
        infinities: whether an infinity counts as well as NaN.

    Returns:
        A context manager; the checks hold in the thread that enters it.

    Raises:
        NonFiniteError: raised by the code inside. The message names the operation, its line, and the values that it
            read.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def entropy(p):
        ...     return -np.sum(p * np.log(p))
        >>> with fg.debug_nans(), np.errstate(divide="ignore"):
        ...     fg.grad(entropy)(np.array([0.5, 0.5, 0.0]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        funcgrad.errors.NonFiniteError: debug_nans: log at ... made -inf of finite numbers, in 1 of 3 places...

    The name is that of ``jax.debug_nans``.
    """
    with checking(Checks(infinities, _inside)):
        yield


@contextlib.contextmanager
def checking(asked: Checks) -> Iterator[None]:
    """Run code with these checks of each operation and of each pass back."""
    before, opened = checks.get(), False
    try:
        # The setup is inside the try block, because Ctrl-C may come after each line.
        checks.set(asked)
        with _opening:
            opened = True
            _open[0] += 1
            if _open[0] == 1:
                onlookers.append(begin)
                for trace in lasting_traces:
                    trace.set_check(check_result)
        yield
    finally:
        checks.set(before)
        with _opening:
            _open[0] -= opened
            if _open[0] == 0 and begin in onlookers:
                onlookers.remove(begin)
                for trace in lasting_traces:
                    trace.set_check(None)


def checked_call(
    call: Callable[..., Any], function: Callable[..., Any], stage: Callable[..., Any], args: tuple, kwargs: dict
) -> Any:
    """Call a compiled function. If its results are not finite, find the reason by its graph.

    A graph does not mark derivatives. If the data contained a NaN or an infinity, the function itself runs once more,
    operation by operation, and raises the error that it would raise without compilation.

    Args:
        call: the compiled function.
        function: the function that was compiled.
        stage: returns the graph, and as its third value the arrays for its inputs.
        args: the positional arguments.
        kwargs: the keyword arguments.
    """
    asked = checks.get()
    assert asked is not None
    try:
        checks.set(None)
        out = call(*args, **kwargs)
        bad = [leaf for leaf in leaves(out) if asked.is_bad(leaf)]
        if not bad:
            return out
        graph, _, given, _ = stage(args, kwargs)
    finally:
        checks.set(asked)
    if any(asked.is_bad(x) for x in (*given, *[value for _, value in graph.constants])):
        function(*args, **kwargs)
        return out
    _evaluate(asked, graph, given)
    raise asked.error(f"the compiled function {graph.name}", bad[0], given, None)


def evaluated(graph: Graph, args: Sequence[Any]) -> list[Any]:
    """Run the linear program of a derivative.

    Its constants belong to the derivative, and are checked as its results.
    """
    asked = checks.get() if onlookers else None
    return graph.evaluate(*args) if asked is None else _evaluate(asked, graph, args, linear=True)


def _evaluate(asked: Checks, graph: Graph, args: Sequence[Any], *, linear: bool = False) -> list[Any]:
    """Run a graph and check each result."""
    fixed = {var for var, _ in graph.constants}
    values: dict[Any, Any] = dict(graph.constants)
    values.update(zip(graph.inputs, args, strict=True))
    for equation in graph.equations:
        operands = tuple([x.value if type(x) is Literal else values[x] for x in equation.operands])
        y = bind(equation.primitive, operands, equation.params)
        pairs = zip(operands, equation.operands, strict=True)
        given = [x for x, var in pairs if type(var) is Var and var not in fixed] if linear else None
        asked.look(equation.primitive, operands, equation.params, y, equation.source, given)
        values.update(zip(equation.results, y if equation.primitive.multiple_results else (y,), strict=True))
    return [x.value if type(x) is Literal else values[x] for x in graph.outputs]


def _inside(asked: Checks, primitive: Primitive, operands: Sequence[Any], params: dict) -> None:
    """Run the program inside an operation once more, and check each of its results."""
    if any(x is None for x in operands):
        return
    for held in params.values():
        if isinstance(held, Graph) and len(held.inputs) == len(operands):
            _evaluate(asked, held, operands)
        elif isinstance(held, Branches):
            _evaluate(asked, held.true if operands[0] else held.false, operands[1:])
        elif isinstance(held, Loop):
            _steps(asked, held, operands)
        elif isinstance(held, While):
            condition, constants, carry = held.parts(tuple(operands))
            while _evaluate(asked, held.condition, [*condition, *carry])[0]:
                carry = _evaluate(asked, held.body, [*constants, *carry])


def _steps(asked: Checks, loop: Loop, operands: Sequence[Any]) -> None:
    constants, carry, xs = loop.parts(tuple(operands))
    times = range(loop.length)
    for t in reversed(times) if loop.reverse else times:
        ys = _evaluate(asked, loop.body, [*constants, *carry, *[x[t] for x in xs]])
        carry = tuple(ys[: loop.carry])

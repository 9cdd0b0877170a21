"""Control flow as operations: ``scan``, ``fori_loop``, ``while_loop`` and ``cond``."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_integer, is_real
from funcgrad._core.bind import is_value
from funcgrad._core.tracebacks import folded
from funcgrad._core.words import shown
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.program.branch import Branches, While
from funcgrad._ops.program.scan import Loop
from funcgrad._transforms.base.arguments import check_callable, name_of, taken
from funcgrad._transforms.base.bodies import stage_body, stage_loop_body
from funcgrad._transforms.control.branches import (
    check_branches,
    is_known,
    result_of,
    run_branch,
    stage_branches,
    with_common_inputs,
)
from funcgrad._transforms.control.segments import checked_segment, scan_in_segments
from funcgrad._types import Array, ArrayLike, PyTree, Value
from funcgrad.numpy.extend import array_test, as_value
from funcgrad.tree import TreeDef, flatten, flatten_with_path, key_path_str, structure, unflatten


@folded
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: PyTree,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoint: int | None = None,
) -> tuple[Any, Any]:
    """Loop over leading axes with a carried state. The body is staged once per call, and compiled once.

    In Python's terms::

        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, np.stack(ys)

    On XLA the loop is one program. A further call does not compile again if the body does the same. Python numbers are
    part of the program, while arrays and NumPy scalars that the body closes over may change.

    Args:
        f: takes ``(carry, x)`` and returns ``(carry, y)``, pytrees of arrays; the carry keeps its shapes and dtypes.
        init: the first carry.
        xs: a pytree of arrays with one leading axis length; ``None`` if there are none.
        length: the number of rounds, needed if ``xs`` has no arrays.
        reverse: whether to go from the last round to the first.
        unroll: the number of rounds in one iteration of XLA's loop; ``True`` for all of them. The other engines take no
            notice.
        checkpoint: the number of rounds of a segment. Reverse mode keeps the carry before each segment, and computes
            the values of its rounds again. Without it, reverse mode keeps the values of all rounds that the rules read.

    Returns:
        ``(carry, ys)``: the last carry, and the stacked results of the rounds.

    Raises:
        TracerBoolConversionError: ``f`` branches on a value; it runs on types alone.
        TypeError: the carry changes its shape or dtype.
        TreeMismatchError: the carry changes its structure.
        ValueError: the lengths of ``xs`` differ, or ``checkpoint`` is not from 1 to the number of rounds.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def step(total, x):
        ...     return total + x, total * x
        >>> fg.scan(step, 0.0, np.array([1.0, 2.0, 3.0]))
        (np.float64(6.0), array([0., 2., 9.]))
        >>> fg.grad(lambda x: fg.scan(step, 0.0, x)[1].sum())(np.array([1.0, 2.0, 3.0]))
        array([5., 4., 3.])

    Source: the signature is ``jax.lax.scan``'s.
    """
    check_callable("scan", f)
    rows, xs_tree = flatten(xs)
    rows = [as_value(taken(x)) for x in rows]
    steps = _length(f, rows, length)
    if checkpoint is not None:
        segment = checked_segment(name_of(f), checkpoint, steps)
        if steps:
            run = functools.partial(_scan_rows, f, reverse, unroll)
            return scan_in_segments(scan, run, init, unflatten(xs_tree, rows), steps, segment, reverse=reverse)
    init_parts = _carry("scan", init)
    count = len(init_parts[0])

    def flat(values: list) -> Any:
        out = f(unflatten(init_parts[1], values[:count]), unflatten(xs_tree, values[count:]))
        if not isinstance(out, tuple | list) or len(out) != 2:
            raise TypeError(
                f"scan: {name_of(f)} returned {_described(out)}; needed a pair (carry, y). "
                "Return both, (carry, None) where there is nothing to stack."
            )
        return tuple(out)

    row_avals = [Aval(x.shape[1:], x.dtype) for x in rows]
    body, carry = stage_loop_body("scan", f, flat, init_parts, row_avals)
    loop = Loop(body.graph, len(body.captured), count, steps, reverse, _unrolled("scan", unroll, steps))
    results = loop(*body.captured, *carry, *rows)
    return unflatten(init_parts[1], body.as_returned(results[:count])), unflatten(
        body.out_tree.children()[1], results[count:]
    )


def _scan_rows(
    f: Callable[[Any, Any], tuple[Any, Any]], reverse: bool, unroll: int | bool, carry: PyTree, xs: PyTree, length: int
) -> tuple[Any, Any]:
    """Scan some of the rows."""
    return scan(f, carry, xs, length, reverse, unroll)


def _described(out: Array) -> str:
    return str(aval_of(out)) if is_value(out) else f"a {type(out).__name__}"


def _carry(transform: str, init: PyTree) -> tuple[list[Any], TreeDef, list[str]]:
    """Return the leaves of an initial carry, its structure, and the path of each leaf for messages."""
    pairs, treedef = flatten_with_path(init)
    paths = [key_path_str(path) for path, _ in pairs]
    for path, (_, x) in zip(paths, pairs, strict=True):
        if issubclass(type(x), str | bytes):
            raise TypeError(
                f"{transform}: the initial carry{f' at {path}' if path else ''} is a {type(x).__name__}; needed arrays "
                "or numbers. Put other things into a closure."
            )
    return [as_value(taken(x)) for _, x in pairs], treedef, [f" at {path}" if path else "" for path in paths]


def _length(f: Callable[..., Any], rows: list[Any], length: int | None) -> int:
    shapes = [aval_of(x).shape for x in rows]
    if () in shapes:
        raise ValueError(
            f"scan: a leaf of xs for {name_of(f)} is {aval_of(rows[shapes.index(())])}; needed an array with a leading "
            "axis to loop over. Put values that are the same in each round into a closure or the carry."
        )
    lengths = {shape[0] for shape in shapes}
    if length is not None:
        lengths.add(_checked_length(length))
    if len(lengths) != 1:
        arrived = f"lengths {sorted(lengths)}" if lengths else "neither xs nor length"
        raise ValueError(
            f"scan: for {name_of(f)} there are {arrived}; needed one length, of the leading axis of every array in xs "
            "and of length where it is given."
        )
    return lengths.pop()


def _checked_length(length: Any) -> int:
    needed = "needed an integer that is not negative, and known when the program is made. Use while_loop otherwise."
    if not hasattr(length, "__index__"):
        raise TypeError(f"scan: length is a {type(length).__name__}; {needed}")
    number = operator.index(length)
    if number < 0:
        raise ValueError(f"scan: length is {number}; {needed}")
    return number


@folded
def fori_loop(
    lower: Value, upper: Value, body: Callable[[Any, Any], Any], init: PyTree, *, unroll: int | bool = 1
) -> Any:
    """Loop over integers with a carried state.

    In Python's terms: ``for i in range(lower, upper): carry = body(i, carry)``. If both bounds are known integers, it
    is a `scan`, and reverse mode works. A traced bound makes it a `while_loop`.

    Args:
        lower: the first integer.
        upper: the integer to stop before.
        body: takes ``(i, carry)`` and returns the new carry, with the same structure, shapes and dtypes. ``i`` is
            promoted as a Python integer is.
        init: the first carry.
        unroll: as for `scan`. Both bounds must be known integers then.

    Returns:
        The last carry.

    Raises:
        ValueError: ``unroll`` was given, and a bound is traced.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def newton(i, y):  # the square root of 2
        ...     return 0.5 * (y + 2.0 / y)
        >>> print(round(float(fg.fori_loop(0, 5, newton, 1.0)), 6))
        1.414214

    Source: the signature is ``jax.lax.fori_loop``'s.
    """
    check_callable("fori_loop", body, "body")
    carry_parts = _carry("fori_loop", init)

    def flat(values: list) -> Any:
        i, carry = values[0], unflatten(carry_parts[1], values[1:])
        return (i + 1, body(i, carry)), None

    (first, last), static = _bounds(lower, upper)
    if not static:
        if unroll is not False and unroll != 1:
            raise ValueError(
                f"fori_loop: unroll is {unroll!r}, and a bound is known only when the program runs; needed integer "
                "bounds. Leave unroll out."
            )
        start = (first, last, init)

        def below_upper(state: PyTree) -> Array:
            return state[0] < state[1]

        @functools.wraps(body)
        def advance(state: PyTree) -> Any:
            i, stop, carry = state
            return i + 1, stop, body(i, carry)

        return while_loop(below_upper, advance, start)[2]
    leaves, carry_tree, paths = carry_parts
    counted = [first, *leaves], structure((0, init)), [" (the counter)", *paths]
    staged, carry = stage_loop_body("fori_loop", body, flat, counted, [])
    steps = max(last - first, 0)
    loop = Loop(staged.graph, len(staged.captured), len(carry), steps, False, _unrolled("fori_loop", unroll, steps))
    return unflatten(carry_tree, staged.as_returned(loop(*staged.captured, *carry))[1:])


def _unrolled(transform: str, unroll: Any, steps: int) -> int:
    """Return the number of rounds in one iteration."""
    if isinstance(unroll, bool):
        return max(steps, 1) if unroll else 1
    if not hasattr(unroll, "__index__") or operator.index(unroll) < 1:
        raise ValueError(
            f"{transform}: unroll is {shown(unroll)}; needed an integer from 1 on, or a bool. Leave it out for one "
            "round in each iteration."
        )
    return operator.index(unroll)


_INDEX = np.dtype(np.int64)


def _bounds(lower: Value, upper: Value) -> tuple[tuple[Any, Any], bool]:
    """Return the bounds, as integers if both are known."""
    try:
        return (operator.index(lower), operator.index(upper)), True
    except TypeError:
        bounds = as_value(lower), as_value(upper)
        for bound in bounds:
            aval = aval_of(bound)
            if aval.shape or not is_integer(aval.dtype):
                raise TypeError(
                    f"fori_loop: a bound is {aval}; needed an integer scalar. Convert it with astype(int)."
                ) from None
        return bounds, False


@folded
def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: PyTree) -> Any:
    """Loop as long as a condition holds.

    In Python's terms: ``while cond(carry): carry = body(carry)``. Forward mode works, reverse mode does not.

    Args:
        cond: takes the carry and returns a boolean scalar.
        body: takes the carry and returns the new one, of the same structure, shapes and dtypes.
        init: the first carry.

    Returns:
        The last carry.

    Raises:
        NotDifferentiableError: reverse mode reaches the loop.

    Example:
        >>> import funcgrad as fg
        >>> print(fg.while_loop(lambda x: x < 100.0, lambda x: x * x, 3.0))
        6561.0

    Source: the signature is ``jax.lax.while_loop``'s.
    """
    check_callable("while_loop", cond, "cond")
    check_callable("while_loop", body, "body")
    parts = _carry("while_loop", init)

    def flat(values: list) -> Any:
        return body(unflatten(parts[1], values)), None

    staged, carry = stage_loop_body("while_loop", body, flat, parts, [])
    avals = [aval_of(x) for x in carry]
    kinds = list(map(array_test, parts[0]))
    condition = stage_body(
        "while_loop", lambda values: _truth(cond(unflatten(parts[1], values))), avals, name_of(cond), kinds=kinds
    )
    _check_predicate("while_loop", name_of(cond), condition.outputs)
    loop = While(condition.graph, staged.graph, len(condition.captured), len(staged.captured))
    return unflatten(parts[1], staged.as_returned(loop(*condition.captured, *staged.captured, *carry)))


@folded
def cond(pred: Value, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> PyTree:
    """Apply one of two functions, chosen by a boolean.

    If the boolean is traced, both functions are staged, and the program decides. If its value is known (eager code),
    the chosen function runs on the given values. Eager code also stages both functions, once for operands of these
    types, so that it raises the same errors as a compiled program.

    Args:
        pred: a boolean scalar; another number counts as true unless it is zero.
        true_fun: a function of the operands.
        false_fun: another function; its results must have the same structure, shapes and dtypes.
        operands: pytrees of arrays.

    Returns:
        The result of the chosen function.

    Raises:
        TypeError: the results of the two functions differ in shape or dtype.
        TreeMismatchError: the results differ in structure.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> @fg.jit(engine="numpy")
        ... def safe_log(x):
        ...     return fg.cond(x > 0, np.log, lambda x: x - 1, x)
        >>> print(safe_log(1.0), fg.grad(safe_log)(0.5), fg.grad(safe_log)(-3.0))
        0.0 2.0 1.0

    Source: the signature is ``jax.lax.cond``'s.
    """
    check_callable("cond", true_fun, "true_fun")
    check_callable("cond", false_fun, "false_fun")
    pred = stop_gradient_p(as_value(pred))
    _check_predicate("cond", "pred", [aval_of(pred)])
    leaves, in_tree = flatten(operands)
    leaves = [as_value(taken(x)) for x in leaves]
    functions = true_fun, false_fun
    if is_known(pred):
        check_branches("cond", functions, leaves, in_tree)
        return run_branch(true_fun if pred else false_fun, operands)
    bodies = stage_branches("cond", functions, leaves, in_tree)
    (true, false), captured = with_common_inputs(bodies)
    return result_of("cond", bodies, Branches(true, false)(_truth(pred), *captured, *leaves))


def _truth(x: ArrayLike) -> Array:
    """Return whether a real scalar differs from zero; leave other values to the check."""
    aval = aval_of(x) if is_value(x) else None
    return x != 0 if aval and not aval.shape and is_real(aval.dtype) and aval.dtype.kind != "b" else x


def _check_predicate(transform: str, name: str, avals: list[Aval]) -> None:
    if len(avals) != 1 or avals[0].shape or not is_real(avals[0].dtype):
        arrived = str(avals[0]) if len(avals) == 1 else f"{len(avals)} values"
        raise TypeError(f"{transform}: {name} is {arrived}; needed a boolean scalar. Reduce it with np.all or np.any.")

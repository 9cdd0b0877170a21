"""``implicit_root``: differentiates the solution of an equation without differentiating the solver."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import Tracer, is_value
from funcgrad._core.lazy import LazyModule
from funcgrad._core.tracebacks import folded
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.program.regular import ROOT, SolutionCheck, checked_solution
from funcgrad._transforms.base.arguments import check_callable, name_of
from funcgrad._transforms.custom.callback import call_numpy
from funcgrad._transforms.custom.decorators import custom_jvp
from funcgrad._transforms.derivative.forward import jvp
from funcgrad._transforms.derivative.higher_order import jacfwd
from funcgrad._types import ArrayLike, Value
from funcgrad.errors import NotDifferentiableError, TreeMismatchError
from funcgrad.numpy.extend import as_value
from funcgrad.numpy.linalg import solve
from funcgrad.tree import flatten, unflatten

optimize = LazyModule("scipy.optimize")

Solver = Callable[[Callable[[np.ndarray], np.ndarray], np.ndarray], Any]


@folded
def implicit_root(residual: Callable[..., Any], guess: Value, *args: Any, solver: Solver | None = None) -> Any:
    """Find ``x`` with ``residual(x, *args) = 0``. It is differentiable by ``args``, in both modes and to any order.

    A solver that no transform traces finds the root on plain NumPy arrays; under `jit` on XLA it is called when the
    program runs. The derivative comes from one linear solve at the root::

        x_dot = -(d residual / d x)^-1 (d residual / d args) args_dot

    Args:
        residual: takes ``x`` and ``args``, and returns an array of the shape of ``x``; written with NumPy. Values that
            it closes over have no derivative here.
        guess: f64[...]: the start of the search; it has no derivative.
        args: pytrees of arrays.
        solver: takes ``f(x)``, which is the residual, and the guess, and returns the root, all as NumPy arrays.
            ``None`` is ``scipy.optimize.root`` with the Jacobian from `jacfwd`.

    Returns:
        The root, of the shape and dtype of the guess.

    Raises:
        TypeError: the guess is not a real float array.
        NotDifferentiableError: the residual closes over a traced value.
        TreeMismatchError: the shape of the residual differs from that of the guess.
        RuntimeError: SciPy does not converge (under `jit`, as an error of the program that runs).
        ImplicitRuleError: the residual is not 0 at the root that the solver returned, is not smooth there, or its
            Jacobian is singular, and a derivative is asked for.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def cube_root(a):
        ...     return fg.implicit_root(lambda x, a: x**3 - a, np.array(1.0), a)
        >>> print(np.round([cube_root(8.0), fg.grad(cube_root)(8.0), fg.grad(fg.grad(cube_root))(8.0)], 6))
        [ 2.        0.083333 -0.006944]

    Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), chapter 15; for the form,
    ``jax.lax.custom_root``.
    """
    check_callable("implicit_root", residual, "residual")
    guess = as_value(guess)
    aval = aval_of(guess)
    if not is_inexact(aval.dtype) or aval.dtype.kind == "c":
        raise TypeError(
            f"implicit_root: the guess is {aval}; needed an array of a real float dtype. Convert it with astype(float)."
        )
    return _root(residual, solver or _by_scipy, guess, args)


@functools.partial(custom_jvp, nondiff_argnums=(0, 1))
def _root(residual: Callable[..., Any], solver: Solver, guess: Value, args: tuple) -> Any:
    aval = aval_of(guess)

    def search(guess: np.ndarray, args: tuple) -> Any:
        def f(x: np.ndarray) -> Any:
            y = as_value(residual(x, *args))
            _check(residual, aval, x, y)
            return y

        return np.asarray(solver(f, guess)).astype(aval.dtype)

    return call_numpy(search, Aval(aval.shape, aval.dtype), guess, args)


@_root.defjvp
def _push_root(
    residual: Callable[..., Any], solver: Solver, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    guess, args = primals
    x = _root(residual, solver, guess, args)
    found, in_tree = flatten(args)
    dots = flatten(tangents[1])[0]
    moving = [i for i, y in enumerate(found) if is_value(y) and is_inexact(aval_of(y).dtype)]

    def of_moving(*values: Any) -> Any:
        whole = list(found)
        for i, value in zip(moving, values, strict=True):
            whole[i] = value
        return residual(x, *unflatten(in_tree, whole))

    shape, size = aval_of(x).shape, aval_of(x).size
    y, y_dot = jvp(of_moving, tuple([found[i] for i in moving]), tuple([dots[i] for i in moving]))
    jacobian = reshape(jacfwd(lambda x: residual(x, *args))(x), (size, size))

    def behind(x: np.ndarray, step: np.ndarray, *values: np.ndarray) -> np.ndarray:
        at = np.reshape(x - step, shape)
        return np.reshape(as_value(residual(at, *unflatten(in_tree, list(values)))), (size,))

    check = SolutionCheck("implicit_root", ROOT, behind)
    known = reshape(x, (size,)), np.ones((), np.float32), jacobian, reshape(y, (size,))
    values, moved = reshape(-y_dot, (size,)), [dots[i] for i in moving]
    x_dot = checked_solution(lambda y: solve(jacobian, y), values, moved, check, *known, *found)
    return x, reshape(x_dot, shape)


def _check(residual: Callable[..., Any], guess: Aval, x: ArrayLike, y: ArrayLike) -> None:
    if isinstance(y, Tracer) and not isinstance(x, Tracer):
        raise NotDifferentiableError(
            f"implicit_root: {name_of(residual)} closes over a traced value, by which the root has no derivative. "
            "It arrived with plain arrays and returned a traced one. Pass the value among the arguments."
        )
    if aval_of(y).shape != guess.shape:
        raise TreeMismatchError(
            f"implicit_root: {name_of(residual)} returned {aval_of(y)} for a guess {guess}; needed the shape of the "
            "guess. Give as many equations as there are unknowns."
        )


def _by_scipy(f: Callable[[np.ndarray], np.ndarray], guess: np.ndarray) -> np.ndarray:
    """Find the root by Powell's hybrid method, with all unknowns in one float64 vector."""
    size = guess.size

    def flat(x: np.ndarray) -> np.ndarray:
        return np.reshape(f(np.reshape(x, guess.shape)), (size,))

    start = np.asarray(guess, np.float64).reshape(size)
    found = optimize.root(flat, start, jac=jacfwd(flat), tol=1e-13)
    # At the limits of precision SciPy may report slow progress although the root is found.
    if not found.success and not np.allclose(found.fun, 0, atol=1e-9):
        why = " ".join(found.message.split()).rstrip(".")
        raise RuntimeError(f"implicit_root: SciPy found no root ({why}). Give a nearer guess, or a solver.")
    return found.x.reshape(guess.shape)

"""``torch.autograd.gradcheck``: derivatives of functions of tensors against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import Array
from funcgrad.autograd import enable_grad, grad, no_grad
from funcgrad.autograd.extend import is_tensor

Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """``torch.autograd.gradcheck.GradcheckError``: a derivative differs from differences.

    Example:
        >>> import funcgrad.torch as torch
        >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        >>> try:
        ...     torch.autograd.gradcheck(lambda x: x.detach() * 2 + 0 * x, (x,))
        ... except RuntimeError as error:
        ...     print(type(error).__name__)
        GradcheckError
    """


def _tuple(x: Array) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    **options: Any,
) -> bool:
    """``torch.autograd.gradcheck``: compare gradients with central differences, for inputs of float64.

    Args:
        func: takes tensors, and returns a tensor or a tuple of tensors.
        inputs: the tensors; those that require gradients are checked.
        eps: the step of the differences.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
        raise_exception: raise an error at a difference, instead of returning ``False``.
        options: PyTorch's other options, which change no result here.

    Raises:
        GradcheckError: a gradient differs, and ``raise_exception`` is set.
        ValueError: no input requires a gradient.
    """
    del options
    given = _tuple(inputs)
    checked = [i for i, x in enumerate(given) if is_tensor(x) and x.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    if any(given[i].dtype not in (np.float64, np.complex128) for i in checked):
        warnings.warn(
            "Input #0 requires gradient and is not a double precision floating point or complex. This check will "
            "likely fail if all the inputs are not of double precision floating point or complex.",
            UserWarning,
            stacklevel=2,
        )
    try:
        _compare(func, given, checked, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _compare(func: Function, given: tuple[Any, ...], checked: list[int], eps: float, atol: float, rtol: float) -> None:
    # The differences write to the inputs, so the outputs whose derivatives are asked for are computed afterwards.
    numerical = _differences(func, given, checked, eps)
    outputs = [y for y in _tuple(func(*given)) if is_tensor(y) and y.dtype.kind in "fc"]
    for o, y in enumerate(outputs):
        flat = y.reshape(-1)
        rows: list[Any] = [
            grad(flat[k], [given[i] for i in checked], retain_graph=True, allow_unused=True)
            if y.requires_grad
            else [None] * len(checked)
            for k in range(flat.shape[0])
        ]
        for c, i in enumerate(checked):
            zero = np.zeros(given[i].shape)
            columns = [zero.reshape(-1) if row[c] is None else np.asarray(row[c].detach()).reshape(-1) for row in rows]
            analytical = np.stack(columns, 1) if columns else np.zeros((given[i].numel(), 0))
            if not np.allclose(analytical, numerical[o][c], rtol, atol, equal_nan=True):
                raise GradcheckError(
                    f"Jacobian mismatch for output {o} with respect to input {i},\nnumerical:{numerical[o][c]}\n"
                    f"analytical:{analytical}\n"
                )


def _differences(func: Function, given: tuple[Any, ...], checked: list[int], eps: float) -> list[list[np.ndarray]]:
    """Return the derivatives of each output by each checked input: a row for each element of the input."""
    found: list[list[list[np.ndarray]]] = []
    with no_grad():
        for c, i in enumerate(checked):
            # The values are written in place, so that other tensors of the same memory follow.
            value = given[i].detach()
            for place in np.ndindex(value.shape):
                before = value[place].clone()
                sides = []
                for step in (eps, -eps):
                    value[place] = before + step
                    sides.append([np.array(y.detach()) for y in _tuple(func(*given)) if y.dtype.kind in "fc"])
                value[place] = before
                for o, (high, low) in enumerate(zip(*sides, strict=True)):
                    while len(found) <= o:
                        found.append([[] for _ in checked])
                    found[o][c].append(((high - low) / (2 * eps)).reshape(-1))
    return [[np.stack(rows) if rows else np.zeros((0, 0)) for rows in output] for output in found]


def gradgradcheck(func: Function, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """``torch.autograd.gradgradcheck``: compare second derivatives with differences of the first ones.

    The arguments are those of `gradcheck`; ``grad_outputs`` are the seeds, random ones by default.
    """
    given = _tuple(inputs)
    checked = [i for i, x in enumerate(given) if is_tensor(x) and x.requires_grad]
    outputs = [y for y in _tuple(func(*given)) if is_tensor(y) and y.requires_grad]
    rng = np.random.default_rng(0)
    if grad_outputs is None:
        seeds = [y.new_tensor(rng.standard_normal(y.shape)).requires_grad_() for y in outputs]
    else:
        seeds = list(_tuple(grad_outputs))
    count = len(given)

    def gradients(*args: Any) -> Any:
        ys = [y for y in _tuple(func(*args[:count])) if is_tensor(y) and y.requires_grad]
        xs = [args[i] for i in checked]
        found = grad(ys, xs, args[count:], create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(enable_grad(gradients), (*given, *seeds), **options)

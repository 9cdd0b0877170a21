"""PyTorch's functions of several tensors, and others that are no methods: joins, products, choices, distances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, AxesLike, Tensor
from funcgrad.autograd import tensor
from funcgrad.autograd.extend import TRACE, is_tensor, pytorchs_error
from funcgrad.torch._functions import check_tensors, of_tensors
from funcgrad.torch._refusals import check_einsum

Function = Callable[..., Any]


def _axis(x: Array, dim: int, extra: int = 0) -> int:
    n = max(len(x.shape) + extra, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def cat(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Any:
    """Return the tensors joined along an axis."""
    dim = dim if axis is None else axis
    given = check_tensors("cat", tensors)
    if not given:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    if any(not x.shape for x in given):
        place = next(i for i, x in enumerate(given) if not x.shape)
        raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    # As in PyTorch, an empty vector joins anything.
    kept = [x for x in given if x.shape != (0,)] or list(given)
    axis = _axis(kept[0], dim)
    for i, x in enumerate(kept):
        if len(x.shape) != len(kept[0].shape):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(kept[0].shape)} and {len(x.shape)}"
            )
        for j, (n, m) in enumerate(zip(kept[0].shape, x.shape, strict=True)):
            if j != axis and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {n} but got size {m} for "
                    f"tensor number {i} in the list."
                )
    return fnp.concatenate(kept, axis)


def stack(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Return the tensors joined along a new axis."""
    given = check_tensors("stack", tensors)
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    for i, x in enumerate(given):
        if x.shape != given[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(given[0].shape)} at entry 0 and "
                f"{list(x.shape)} at entry {i}"
            )
    return fnp.stack(given, _axis(given[0], dim, 1))


def where(condition: Array, input: Array = None, other: Any = None) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the elements of one tensor where a condition is true, and those of another elsewhere."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition.dtype.kind not in "bu":
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype.name.capitalize()}"
        )
    if not is_tensor(input) and not is_tensor(other):
        input = tensor(input)  # noqa: A001  (PyTorch's name)
    return fnp.where(condition, input, other)


def einsum(equation: Any, *operands: Any) -> Any:
    """Return the sum of products that Einstein's notation names."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    if not isinstance(equation, str):
        return fnp.einsum(equation, *given)
    equation = equation.replace(" ", "")
    check_einsum(equation, given)
    return fnp.einsum(equation, *given)


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Return the products of two tensors summed over axes of both."""
    return fnp.tensordot(a, b, dims)


def meshgrid(*tensors: Any, indexing: Any = "ij") -> Any:
    """Return grids of coordinates of vectors."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    return tuple(fnp.meshgrid(*given, indexing=indexing))


def broadcast_tensors(*tensors: Any) -> Any:
    """Return the tensors in their common shape."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    try:
        shape = np.broadcast_shapes(*[x.shape for x in given])
    except ValueError as error:
        raise pytorchs_error(error, given) or error from None
    return tuple([x.expand(*shape) for x in given])


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """``torch.broadcast_shapes``: return the common shape of several."""
    try:
        return np.broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes])
    except ValueError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape: " + ", ".join(map(str, shapes))
        ) from None


def block_diag(*tensors: Any) -> Any:
    """Return a matrix with the given ones on its diagonal."""
    given = [x.reshape(1, -1) if len(x.shape) < 2 else x for x in tensors]
    width = sum(x.shape[1] for x in given)
    rows, start = [], 0
    for x in given:
        rows.append(fnp.pad(x, ((0, 0), (start, width - start - x.shape[1]))))
        start += x.shape[1]
    return fnp.concatenate(rows, 0)


def cartesian_prod(*tensors: Any) -> Any:
    """Return all combinations of elements of vectors, one in each row."""
    if len(tensors) == 1:
        return tensors[0]
    return fnp.stack([grid.reshape(-1) for grid in meshgrid(*tensors)], 1)


def combinations(input: Array, r: int = 2, with_replacement: bool = False) -> Any:  # noqa: A002  (PyTorch's name)
    """Return all choices of elements of a vector, one in each row."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.shape[0]), r))
    return input[np.array(rows, np.int64).reshape(-1, r)]


def bucketize(input: Array, boundaries: Array, *, out_int32: bool = False, right: bool = False) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the number of boundaries below each element."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def searchsorted(
    sorted_sequence: Array,
    input: Array,  # noqa: A002  (PyTorch's name)
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array = None,
) -> Any:
    """Return where elements belong in a sorted sequence, or in one that ``sorter`` sorts."""
    if sorter is not None:
        sorted_sequence = sorted_sequence.detach().gather(-1, sorter)
    left: Any = ("right" if right else "left") if side is None else side
    edges, x = np.asarray(sorted_sequence.detach()), np.asarray(input.detach()) if is_tensor(input) else input
    if edges.ndim == 1:
        found = np.searchsorted(edges, x, left)
    else:
        rows = zip(edges.reshape(-1, edges.shape[-1]), x.reshape(-1, x.shape[-1]), strict=True)
        found = np.stack([np.searchsorted(row, values, left) for row, values in rows]).reshape(x.shape)
    return TRACE.constant(np.asarray(found, np.int32 if out_int32 else np.int64))


def isin(elements: Array, test_elements: Array, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return which elements occur among others."""
    given = [np.asarray(x.detach()) if is_tensor(x) else x for x in (elements, test_elements)]
    return TRACE.constant(np.asarray(np.isin(*given, assume_unique=assume_unique, invert=invert)))


def cdist(x1: Array, x2: Array, p: float = 2.0, compute_mode: Any = None) -> Any:
    """Return the distances between the rows of two matrices."""
    del compute_mode
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _norm(difference, p)


def pdist(input: Array, p: float = 2.0) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the distances between different rows of a matrix."""
    rows, columns = np.triu_indices(input.shape[0], 1)
    return _norm(input[rows] - input[columns], p)


def _norm(x: Array, p: float) -> Any:
    """Return the norm over the last axis. Its derivative is 0 where the norm is."""
    if p in (1, 2, math.inf):
        return x.norm(p, -1)
    total = (x.abs() ** p).sum(-1)
    return fnp.where(total == 0, 0.0, fnp.where(total == 0, 1.0, total) ** (1 / p))


def rsub(input: Array, other: Any, *, alpha: float = 1) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the second operand minus the first one."""
    return other - (input if alpha == 1 else input * alpha)


def trapezoid(y: Array, x: Array = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """Return the integral along an axis by the rule of trapezoids."""
    return fnp.trapezoid(y, x, dx, dim)


def cumulative_trapezoid(y: Array, x: Array = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """Return the integrals so far along an axis by the rule of trapezoids."""
    axis = _axis(y, dim)
    n = y.shape[axis]
    means = (y.narrow(axis, 1, n - 1) + y.narrow(axis, 0, n - 1)) / 2
    steps = dx if x is None else x.diff(dim=-1) if len(x.shape) == 1 else x.diff(dim=axis)
    if x is not None and len(x.shape) == 1:
        steps = x.diff(dim=-1).reshape(-1, *(1,) * (len(y.shape) - axis - 1))
    return (means * steps).cumsum(axis)


def vander(x: Array, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803  (PyTorch's name)
    """Return the matrix of powers of a vector."""
    powers = np.arange(x.shape[0] if N is None else N)
    return x.unsqueeze(-1) ** TRACE.constant(powers if increasing else powers[::-1].copy())


def gradient(input: Array, *, spacing: Any = 1, dim: AxesLike = None, edge_order: int = 1) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the derivatives by differences, one tensor for each axis."""
    spacings = list(spacing) if isinstance(spacing, list | tuple) else [spacing]
    y = fnp.gradient(input, *spacings, axis=dim, edge_order=edge_order)
    return tuple(y) if isinstance(y, list | tuple) else (y,)


def chain_matmul(*matrices: Any) -> Any:
    """Return the product of matrices, in the fastest order."""
    return fnp.multi_dot(matrices)


def view_as_real(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return real and imaginary parts along a new last axis."""
    return fnp.stack([fnp.real(input), fnp.imag(input)], -1)


def view_as_complex(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the complex tensor of real and imaginary parts on the last axis."""
    if input.shape[-1:] != (2,):
        raise RuntimeError("Tensor must have a last dimension of size 2")
    real, imaginary = input[..., 0], input[..., 1]
    y = real + imaginary * np.complex64(1j)
    return y.to(np.complex128) if input.dtype == np.float64 else y


def std_mean(input: Array, dim: AxesLike = None, *args: Any, keepdim: bool = False, **options: Any) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the standard deviation and the mean."""
    return input.std(dim, *args, keepdim=keepdim, **options), input.mean(dim, keepdim=keepdim)


def var_mean(input: Array, dim: AxesLike = None, *args: Any, keepdim: bool = False, **options: Any) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the variance and the mean."""
    return input.var(dim, *args, keepdim=keepdim, **options), input.mean(dim, keepdim=keepdim)


def unravel_index(indices: Array, shape: Any) -> Any:
    """Return the indices along each axis of positions in C order."""
    return tuple([TRACE.constant(np.asarray(i)) for i in np.unravel_index(np.asarray(indices.detach()), tuple(shape))])


def trace(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the sum of a matrix's diagonal."""
    if len(input.shape) != 2:
        raise RuntimeError("trace: expected a matrix")
    return fnp.trace(input, dtype=np.int64 if input.dtype.kind == "u" else None)


def real(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the real parts."""
    return fnp.real(input)


def imag(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the imaginary parts."""
    if input.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return fnp.imag(input)


def threshold(input: Array, threshold: float, value: float, inplace: bool = False) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the elements above a threshold, and a number for the others."""
    del inplace
    return fnp.where(input > threshold, input, value)


def _at_least(name: str) -> Function:
    function = getattr(fnp, name)

    def at_least(*tensors: Any) -> Any:
        given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
        found = tuple([function(x) for x in given])
        return found[0] if len(tensors) == 1 and given is tensors else found

    return _named(at_least, name, "return tensors with at least so many axes.")


def _stacked(name: str) -> Function:
    function = getattr(fnp, name)

    def stacked(tensors: Any) -> Any:
        return function(check_tensors(name, tensors))

    return _named(stacked, name, f"return the tensors joined as by ``numpy.{name}``.")


def _named(function: Function, name: str, text: str) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


_PLAIN: tuple[Function, ...] = (
    *(cat, stack, where, einsum, tensordot, meshgrid, broadcast_tensors, block_diag, cartesian_prod, combinations),
    *(bucketize, searchsorted, isin, cdist, pdist, rsub, trapezoid, cumulative_trapezoid, vander, gradient),
    *(chain_matmul, view_as_real, view_as_complex, std_mean, var_mean, unravel_index, trace, real, imag, threshold),
    *map(_at_least, ("atleast_1d", "atleast_2d", "atleast_3d")),
    *map(_stacked, ("hstack", "vstack", "dstack", "column_stack")),
)
FUNCTIONS: dict[str, Function] = {function.__name__: of_tensors(function) for function in _PLAIN}
FUNCTIONS |= {
    "concat": FUNCTIONS["cat"],
    "concatenate": FUNCTIONS["cat"],
    "row_stack": FUNCTIONS["vstack"],
    "trapz": FUNCTIONS["trapezoid"],
    "broadcast_shapes": broadcast_shapes,
}


def is_tensor_(obj: Any) -> bool:
    """``torch.is_tensor``: return whether an object is a tensor."""
    return is_tensor(obj)


is_tensor_.__name__ = is_tensor_.__qualname__ = "is_tensor"
FUNCTIONS["is_tensor"] = is_tensor_

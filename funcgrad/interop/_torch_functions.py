"""Call functions across PyTorch and this library, with derivatives; the implementation of ``interop.torch``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._transforms.base.arguments import name_of
from funcgrad._transforms.base.shape_dtype import ShapeDtype
from funcgrad._transforms.custom.callback import call_numpy
from funcgrad._transforms.custom.decorators import custom_vjp
from funcgrad._transforms.derivative.reverse import vjp
from funcgrad._types import ArrayLike, PyTree
from funcgrad.autograd.extend import array_of, is_torchs
from funcgrad.tree import flatten, unflatten


def differentiable(f: Callable[..., Any]) -> Callable[..., Any]:
    """Convert a function of arrays into a function of PyTorch's tensors; PyTorch differentiates through it.

    Args:
        f: a function of arrays and other values in pytrees. It receives tensors as arrays.

    Returns:
        A function that accepts and returns tensors in place of arrays. ``backward`` computes derivatives of any order.

    Raises:
        ImportError: PyTorch is not loaded when the function is called.

    Example:
        >>> import sys
        >>> import numpy as np
        >>> from funcgrad.interop.torch import differentiable
        >>> energy = differentiable(lambda x: np.sum(np.sin(x) ** 2))
        >>> if "torch" in sys.modules:
        ...     x = sys.modules["torch"].zeros(2, requires_grad=True)
        ...     energy(x).backward()
        ...     assert x.grad.tolist() == [0.0, 0.0]
    """

    @functools.wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        torch = _loaded("differentiable")
        leaves, treedef = flatten((args, kwargs))
        places = [i for i, x in enumerate(leaves) if is_torchs(x)]
        out_tree: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            given = list(leaves)
            for i, x in zip(places, xs, strict=True):
                given[i] = x
            new_args, new_kwargs = unflatten(treedef, given)
            ys, tree = flatten(f(*new_args, **new_kwargs))
            out_tree[:] = [tree]
            return ys

        ys = _kind(torch).apply(flat, *[leaves[i] for i in places])
        return unflatten(out_tree[0], list(ys))

    return called


def from_torch_function(g: Callable[..., Any]) -> Callable[..., Any]:
    """Convert a function of PyTorch's tensors into a function of arrays, which reverse-mode transforms differentiate.

    Args:
        g: a function of tensors that returns a tensor whose shape and dtype follow from those of the arguments. It runs
            on the host, in compiled programs too.

    Returns:
        A function of arrays, with first derivatives by PyTorch's ``autograd``.

    Raises:
        ImportError: PyTorch is not loaded when the function is called.

    Example:
        >>> import sys
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad.interop.torch import from_torch_function
        >>> square = from_torch_function(lambda x: (x * x).sum())
        >>> if "torch" in sys.modules:
        ...     assert fg.grad(square)(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    """

    def values(*xs: Any) -> Any:
        torch = _loaded("from_torch_function")
        with torch.no_grad():
            return array_of(g(*[torch.from_numpy(np.array(x)) for x in xs]))

    def cotangents(y_bar: ArrayLike, *xs: Any) -> list[Any]:
        torch = _loaded("from_torch_function")
        tensors = [torch.from_numpy(np.array(x)) for x in xs]
        moving = [t.requires_grad_() for t in tensors if t.is_floating_point() or t.is_complex()]
        with torch.enable_grad():
            y = g(*tensors)
            # A cotangent without axes is a number of NumPy's, which PyTorch does not take.
            seed = torch.from_numpy(np.array(np.conj(y_bar)))
            bars = torch.autograd.grad(y, moving, seed, allow_unused=True) if moving else ()
        found = iter(bars)
        given = [next(found) if t.requires_grad else None for t in tensors]
        zeros = [np.zeros(tuple(t.shape), array_of(t).dtype) for t in tensors]
        return [zero if bar is None else np.conj(array_of(bar)) for bar, zero in zip(given, zeros, strict=True)]

    @custom_vjp
    @functools.wraps(g)
    def called(*xs: Any) -> Any:
        like = values(*[np.ones(x.shape, x.dtype) for x in map(_with_type, xs)])
        return call_numpy(values, ShapeDtype(like.shape, like.dtype), *xs)

    def backward(xs: tuple, y_bar: ArrayLike) -> tuple:
        types = [ShapeDtype(x.shape, x.dtype) for x in map(_with_type, xs)]
        return tuple(call_numpy(cotangents, types, y_bar, *xs))

    called.defvjp(lambda *xs: (called(*xs), xs), backward)
    return called


def _with_type(x: ArrayLike) -> Any:
    return x if hasattr(x, "dtype") else np.asarray(x)


def _loaded(asked: str) -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        raise ImportError(f"{asked}: PyTorch is not loaded, and its tensors were asked for. Import torch first.")
    return torch


@functools.cache
def _kind(torch: Any) -> Any:
    """Return the ``torch.autograd.Function`` subclass that calls a function of arrays, its first argument."""

    class Called(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, flat: Callable[..., Any], *tensors: Any) -> Any:
            ctx.flat = flat
            ctx.save_for_backward(*tensors)
            ys, ctx.pull = _pullback(flat, tensors, ctx.needs_input_grad[1:])
            return tuple([torch.from_numpy(np.array(y)) for y in ys])

        @staticmethod
        def backward(ctx: Any, *y_bars: PyTree) -> Any:
            tensors, moving = ctx.saved_tensors, ctx.needs_input_grad[1:]
            if not torch.is_grad_enabled():
                bars = ctx.pull([np.conj(array_of(y_bar)) for y_bar in y_bars])
                found = iter([torch.from_numpy(np.array(np.conj(bar))) for bar in bars])
            else:
                # PyTorch records this backward pass for a further derivative, so the pullback is called as a
                # differentiable function too.
                count = len(tensors)

                def pulled(*values: Any) -> list[Any]:
                    xs, bars = values[:count], values[count:]
                    chosen = [i for i, moves in enumerate(moving) if moves]
                    _, pull = vjp(_of_chosen(ctx.flat, xs, chosen), *[xs[i] for i in chosen])
                    return [np.conj(bar) for bar in pull([np.conj(bar) for bar in bars])]

                found = iter(Called.apply(pulled, *tensors, *y_bars))
            return (None, *[next(found) if moves else None for moves in moving])

    return Called


def _pullback(flat: Callable[..., Any], tensors: Sequence[Any], moving: Sequence[bool]) -> tuple[list[Any], Any]:
    """Return the results at the values of tensors, and the pullback to the tensors that require gradients."""
    xs = [array_of(t) for t in tensors]
    chosen = [i for i, moves in enumerate(moving) if moves]
    if not chosen:
        return flat(*xs), None
    ys, pull = vjp(_of_chosen(flat, xs, chosen), *[xs[i] for i in chosen])
    return ys, pull


def _of_chosen(flat: Callable[..., Any], xs: Sequence[Any], chosen: Sequence[int]) -> Callable[..., Any]:
    """Return the function of some of its arguments, with the other arguments fixed."""

    @functools.wraps(flat)
    def function(*values: Any) -> Any:
        given = list(xs)
        for i, value in zip(chosen, values, strict=True):
            given[i] = value
        return flat(*given)

    function.__name__ = name_of(flat)
    return function

"""``torch.autograd.functional``: Jacobians, Hessians and their products, of functions of tensors."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from funcgrad import numpy as _fnp
from funcgrad._public import publish as _publish
from funcgrad.autograd import enable_grad as _enable_grad
from funcgrad.autograd import grad as _grad
from funcgrad.autograd.extend import is_tensor as _is_tensor

_Function = _Callable[..., _Any]


def _inputs(asked: str, inputs: _Any, create_graph: bool) -> tuple[tuple[_Any, ...], bool]:
    """Return the inputs as tensors that require gradients, and whether several were given."""
    several = isinstance(inputs, tuple)
    given = inputs if several else (inputs,)
    for i, x in enumerate(given):
        if not _is_tensor(x):
            raise TypeError(
                f"The inputs given to {asked} must be either a Tensor or a tuple of Tensors but the value at index {i} "
                f"has type {type(x)}."
            )
    return tuple(
        [x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given]
    ), several


def _outputs(asked: str, outputs: _Any) -> tuple[tuple[_Any, ...], bool]:
    several = isinstance(outputs, tuple)
    found = outputs if several else (outputs,)
    for i, y in enumerate(found):
        if not _is_tensor(y):
            where = f"value at index {i}" if several else "given outputs of the user-provided function"
            raise TypeError(
                f"The outputs of the user-provided function given to {asked} must be either a Tensor or a tuple of "
                f"Tensors but the {where} "
                f"has type {type(y)}."
            )
    return found, several


def _filled(grads: _Any, like: _Any, *, strict: bool, asked: str) -> list[_Any]:
    """Return gradients, zeros for inputs that nothing depends on; refuse these with ``strict``."""
    for i, g in enumerate(grads):
        if g is None and strict:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict "
                f"mode, and was asked of {asked}."
            )
    return [x.new_zeros(x.shape) if g is None else g for g, x in zip(grads, like, strict=True)]


def _gradients(y: _Any, xs: tuple[_Any, ...], seed: _Any, *, create_graph: bool) -> _Any:
    if not any(one.requires_grad for one in y):
        return [None] * len(xs)
    kept = [(one, v) for one, v in zip(y, seed, strict=True) if one.requires_grad]
    return _grad(
        [one for one, _ in kept],
        xs,
        [v for _, v in kept],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )


def _one(values: _Any, several: bool) -> _Any:
    return tuple(values) if several else values[0]


def jacobian(
    func: _Function,
    inputs: _Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> _Any:
    """``torch.autograd.functional.jacobian``: return the derivatives of each output by each input.

    The shape is that of the output and then that of the input; for tuples a tuple, or a tuple of tuples.
    """
    del vectorize, strategy
    with _enable_grad():
        xs, several_in = _inputs("jacobian", inputs, create_graph)
        ys, several_out = _outputs("jacobian", func(*xs))
        rows = []
        for y in ys:
            found: list[list[_Any]] = [[] for _ in xs]
            flat = y.reshape(-1)
            for i in range(flat.shape[0]):
                grads = _gradients((flat[i],), xs, (flat.new_ones(()),), create_graph=create_graph)
                for column, g in zip(found, _filled(grads, xs, strict=strict, asked="jacobian"), strict=True):
                    column.append(g)
            parts = [
                _fnp.stack(column).reshape(*y.shape, *x.shape) if column else x.new_zeros(*y.shape, *x.shape)
                for column, x in zip(found, xs, strict=True)
            ]
            rows.append(_one([p if create_graph else p.detach() for p in parts], several_in))
    return _one(rows, several_out)


def hessian(
    func: _Function,
    inputs: _Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> _Any:
    """``torch.autograd.functional.hessian``: return the second derivatives of a scalar function."""
    del vectorize, outer_jacobian_strategy
    several = isinstance(inputs, tuple)

    def gradient(*xs: _Any) -> _Any:
        y = _scalar("hessian", func(*xs))
        grads = _gradients((y,), xs, (y.new_ones(y.shape),), create_graph=True)
        return tuple(_filled(grads, xs, strict=strict, asked="hessian"))

    found: _Any = jacobian(gradient, inputs if several else (inputs,), create_graph, strict=False)
    return found if several else found[0][0]


def _scalar(asked: str, y: _Any) -> _Any:
    (one,), _ = _outputs(asked, y)
    if one.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {asked} should contain a single element")
    return one.squeeze()


def vjp(func: _Function, inputs: _Any, v: _Any = None, create_graph: bool = False, strict: bool = False) -> _Any:
    """``torch.autograd.functional.vjp``: return the outputs, and the product of ``v`` and the Jacobian."""
    with _enable_grad():
        xs, several_in = _inputs("vjp", inputs, create_graph)
        ys, several_out = _outputs("vjp", func(*xs))
        seed: tuple[_Any, ...] = v if isinstance(v, tuple) else (v,)
        if v is None:
            first: _Any = next(iter(ys))
            seed = (first.new_ones(first.shape),)
        if v is None and [y.numel() for y in ys] != [1]:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single "
                "element."
            )
        grads = _filled(_gradients(ys, xs, seed, create_graph=create_graph), xs, strict=strict, asked="vjp")
    values = [y if create_graph else y.detach() for y in ys]
    return _one(values, several_out), _one([g if create_graph else g.detach() for g in grads], several_in)


def jvp(func: _Function, inputs: _Any, v: _Any = None, create_graph: bool = False, strict: bool = False) -> _Any:
    """``torch.autograd.functional.jvp``: return the outputs, and the product of the Jacobian and ``v``."""
    with _enable_grad():
        xs, _ = _inputs("jvp", inputs, create_graph)
        tangents = (xs[0].new_ones(xs[0].shape),) if v is None else v if isinstance(v, tuple) else (v,)
        _check_v(tangents, xs, isinstance(v, tuple))
        ys, several_out = _outputs("jvp", func(*xs))
        # The product with the Jacobian is the derivative, by ``w``, of the product of ``w`` and the Jacobian.
        ws = tuple([y.new_zeros(y.shape).requires_grad_() for y in ys])
        grads = _filled(_gradients(ys, xs, ws, create_graph=True), xs, strict=strict, asked="jvp")
        found = _filled(
            _gradients(tuple(grads), ws, tangents, create_graph=create_graph), ys, strict=False, asked="jvp"
        )
    values = [y if create_graph else y.detach() for y in ys]
    return _one(values, several_out), _one([g if create_graph else g.detach() for g in found], several_out)


def _check_v(given: tuple[_Any, ...], like: tuple[_Any, ...], is_tuple: bool) -> None:
    """Refuse vectors of other shapes than those of the tensors that they belong to."""
    if len(given) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
    for i, (one, x) in enumerate(zip(given, like, strict=True)):
        if one.shape != x.shape:
            entry = f"Entry {i} in " if is_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {x.size()} but got {one.size()}.")


def vhp(func: _Function, inputs: _Any, v: _Any = None, create_graph: bool = False, strict: bool = False) -> _Any:
    """``torch.autograd.functional.vhp``: return the value, and the product of ``v`` and the Hessian."""
    return _by_hessian("vhp", func, inputs, v, (create_graph, strict))


def _by_hessian(asked: str, func: _Function, inputs: _Any, v: _Any, how: tuple[bool, bool]) -> _Any:
    create_graph, strict = how
    with _enable_grad():
        xs, several = _inputs(asked, inputs, create_graph)
        tangents = (xs[0].new_ones(xs[0].shape),) if v is None else v if isinstance(v, tuple) else (v,)
        _check_v(tangents, xs, isinstance(v, tuple))
        y = _scalar(asked, func(*xs))
        grads = _filled(_gradients((y,), xs, (y.new_ones(y.shape),), create_graph=True), xs, strict=strict, asked=asked)
        found = _filled(
            _gradients(tuple(grads), xs, tangents, create_graph=create_graph), xs, strict=False, asked=asked
        )
    return y if create_graph else y.detach(), _one([g if create_graph else g.detach() for g in found], several)


def hvp(func: _Function, inputs: _Any, v: _Any = None, create_graph: bool = False, strict: bool = False) -> _Any:
    """``torch.autograd.functional.hvp``: return the value, and the product of the Hessian, symmetric, and ``v``."""
    return _by_hessian("hvp", func, inputs, v, (create_graph, strict))


__dir__ = _publish(__name__)

"""``torch.func``: transforms of functions of tensors, over those of funcgrad.

The function gets tensors, with all of PyTorch's methods, whatever transforms run around it. Derivatives by tensors
outside, which require gradients, go through every transform.
"""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from numpy import arange as _arange

from funcgrad import nn as _nn
from funcgrad._public import publish as _publish
from funcgrad._transforms.derivative import forward as _forward
from funcgrad._transforms.derivative import higher_order as _higher
from funcgrad._transforms.derivative import reverse as _reverse
from funcgrad._transforms.vmap import vmap as _vmap
from funcgrad.autograd import Tensor as _Tensor
from funcgrad.autograd.extend import TRACE as _TRACE
from funcgrad.autograd.extend import DrawnRows as _DrawnRows
from funcgrad.autograd.extend import conjugated as _conjugated
from funcgrad.autograd.extend import is_tensor as _is_tensor
from funcgrad.autograd.extend import lift as _lift
from funcgrad.autograd.extend import lower as _lower
from funcgrad.autograd.extend import on_values as _on_values
from funcgrad.autograd.extend import refused_draws as _refused_draws
from funcgrad.autograd.extend import rows as _rows
from funcgrad.torch import _names
from funcgrad.torch import _refusals as _checks
from funcgrad.tree import leaves as _leaves
from funcgrad.tree import map as _map

_Function = _Callable[..., _Any]


def _as_tensor(x: _Any) -> _Any:
    """Return a result as a tensor: around a traced value inside of transforms."""
    if _is_tensor(x) or not hasattr(x, "dtype"):
        return x
    return _lift(x) if hasattr(x, "aval") else _TRACE.constant(x)


def _tensors(tree: _Any) -> _Any:
    return _map(_as_tensor, tree)


def _value(x: _Any) -> _Any:
    """Return the array of a tensor that records nothing; a tensor that requires gradients as it is."""
    return x._value if type(x) is _Tensor and not x.requires_grad else _lower(x)


def _values(tree: _Any) -> _Any:
    return _map(_value, tree)


def _ascending(tree: _Any) -> _Any:
    """Return gradients in PyTorch's convention: of complex numbers the direction of ascent."""
    return _map(_conjugated, tree)


def _called(transformed: _Function, has_aux: bool = False) -> _Function:
    def called(*args: _Any, **kwargs: _Any) -> _Any:
        found = transformed(*_values(args), **_values(kwargs))
        if has_aux:
            gradients, aux = found
            return _ascending(_tensors(gradients)), _tensors(aux)
        return _ascending(_tensors(found))

    return called


def _of_loss(func: _Function, argnums: _Any, has_aux: bool) -> _Function:
    """Return a function of values whose result is refused in PyTorch's words unless it is a scalar tensor."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not numbers:
        raise RuntimeError("argnums must be non-empty")

    def checked(*args: _Any, **kwargs: _Any) -> _Any:
        found = func(*args, **kwargs)
        if has_aux and not (isinstance(found, tuple) and len(found) == 2):
            raise RuntimeError(f"{_OF_GRAD}: output of function f should be a tuple: (output, aux) if has_aux is True")
        y: _Any = found[0] if has_aux else found
        if not hasattr(y, "dtype"):
            raise RuntimeError(f"{_OF_GRAD}: Expected f(*args) to return a Tensor, got {type(y)}")
        if y.shape:
            raise RuntimeError(
                f"{_OF_GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {len(y.shape)} dims. Maybe "
                "you wanted to use the vjp or jacrev APIs instead?"
            )
        return found

    return _on_values(checked)


_OF_GRAD = "grad_and_value(f)(*args)"


def grad(func: _Function, argnums: _Any = 0, has_aux: bool = False) -> _Function:
    """``torch.func.grad``: return the function that computes the gradient of a scalar function."""
    transformed = _reverse.grad(_of_loss(func, argnums, has_aux), argnums=argnums, has_aux=has_aux)
    return _checked(_called(transformed, has_aux), argnums)


def _checked(transformed: _Function, argnums: _Any) -> _Function:
    """Return a derivative that refuses positions which a call does not have."""

    def called(*args: _Any, **kwargs: _Any) -> _Any:
        _checks.check_argnums(argnums, args)
        return transformed(*args, **kwargs)

    return called


def grad_and_value(func: _Function, argnums: _Any = 0, has_aux: bool = False) -> _Function:
    """``torch.func.grad_and_value``: return the function that computes the gradient and the value."""
    transformed = _reverse.value_and_grad(_of_loss(func, argnums, has_aux), argnums=argnums, has_aux=has_aux)

    def called(*args: _Any, **kwargs: _Any) -> _Any:
        value, gradients = _tensors(transformed(*_values(args), **_values(kwargs)))
        return _ascending(gradients), value

    return _checked(called, argnums)


def jacrev(func: _Function, argnums: _Any = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> _Function:
    """``torch.func.jacrev``: return the function that computes the Jacobian in reverse mode."""
    del chunk_size
    checked = _of_tensors(func, has_aux)
    return _checked(_plain(_higher.jacrev(_on_values(checked), argnums=argnums, has_aux=has_aux)), argnums)


def _of_tensors(func: _Function, has_aux: bool) -> _Function:
    """Return a function whose results are refused unless they are tensors."""

    def checked(*args: _Any, **kwargs: _Any) -> _Any:
        found = func(*args, **kwargs)
        _checks.check_outputs(found, has_aux)
        return found

    return checked


def jacfwd(func: _Function, argnums: _Any = 0, has_aux: bool = False, *, randomness: str = "error") -> _Function:
    """``torch.func.jacfwd``: return the function that computes the Jacobian in forward mode."""
    del randomness
    return _checked(_plain(_higher.jacfwd(_on_values(func), argnums=argnums, has_aux=has_aux)), argnums)


def hessian(func: _Function, argnums: _Any = 0) -> _Function:
    """``torch.func.hessian``: return the function that computes the second derivatives."""
    return jacfwd(jacrev(func, argnums), argnums)


def _plain(transformed: _Function) -> _Function:
    def called(*args: _Any, **kwargs: _Any) -> _Any:
        return _tensors(transformed(*_values(args), **_values(kwargs)))

    return called


# PyTorch's refusal of random numbers, and ours of different ones for each row.
_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
_DIFFERENT = (
    "vmap: random numbers that differ by row were asked for; the function runs once for all rows, and only torch.rand, "
    "randn, randint, normal, randperm, bernoulli, their relatives for a shape, and dropout can draw such numbers. Draw "
    "numbers of the batch's shape outside, and map over them."
)


def _without_draws(function: _Function, refusal: str) -> _Function:
    """Return a function in which random numbers are refused."""

    def called(*args: _Any, **kwargs: _Any) -> _Any:
        token = _refused_draws.set(refusal)
        try:
            return function(*args, **kwargs)
        finally:
            _refused_draws.reset(token)

    return called


def vmap(
    func: _Function,
    in_dims: _Any = 0,
    out_dims: _Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> _Function:
    """``torch.func.vmap``: return the function over batches, along ``in_dims`` of its arguments."""
    del chunk_size
    if randomness not in {"error", "different", "same"}:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if randomness == "different":
        return _by_rows(func, in_dims, out_dims)
    checked = _checks.returning_tensors(func, out_dims)
    plain = _plain(_vmap(_on_values(checked), in_axes=in_dims, out_axes=out_dims))

    def mapped(*args: _Any, **kwargs: _Any) -> _Any:
        _checks.check_mapped(func, in_dims, args)
        with _checks.in_pytorchs_words():
            return plain(*args, **kwargs)

    return mapped if randomness == "same" else _without_draws(mapped, _RANDOM)


def _by_rows(func: _Function, in_dims: _Any, out_dims: _Any) -> _Function:
    """Return the function over batches, in which ``torch.rand`` and its relatives differ by row."""

    def called(*args: _Any, **kwargs: _Any) -> _Any:
        dims = tuple(in_dims) if isinstance(in_dims, tuple | list) else (in_dims,) * len(args)
        count = next((_length(x, dim) for x, dim in zip(args, dims, strict=False) if dim is not None), 0)

        def of_row(number: _Any, *given: _Any, **named: _Any) -> _Any:
            token = _rows.set((*_rows.get(), _DrawnRows(number, count)))
            try:
                return func(*given, **named)
            finally:
                _rows.reset(token)

        mapped = _plain(_vmap(_on_values(of_row), in_axes=(0, *dims), out_axes=out_dims))
        return _without_draws(mapped, _DIFFERENT)(_TRACE.constant(_arange(count)), *args, **kwargs)

    return called


def _length(x: _Any, dim: _Any) -> int:
    """Return the length of the mapped axis of an argument."""
    axes = [each for each in _leaves(dim) if each is not None]
    return _leaves(x)[0].shape[axes[0]] if axes else 0


def vjp(func: _Function, *primals: _Any, has_aux: bool = False) -> _Any:
    """``torch.func.vjp``: return the value, and the function from cotangents to the cotangents of the arguments."""
    found = _reverse.vjp(_on_values(_of_tensors(func, has_aux)), *_values(primals), has_aux=has_aux)
    pull = found[1]

    def vjp_fn(cotangents: _Any, *more: _Any) -> _Any:
        given = (cotangents, *more) if more else cotangents
        _checks.check_cotangents(given, found[0])
        return _ascending(_tensors(pull(_ascending(_values(given)))))

    return (_tensors(found[0]), vjp_fn, *_tensors(found[2:]))


def jvp(func: _Function, primals: _Any, tangents: _Any, *, strict: bool = False, has_aux: bool = False) -> _Any:
    """``torch.func.jvp``: return the value and its derivative along tangents."""
    del strict
    _checks.check_tangents(primals, tangents)
    value, tangent = _forward.jvp(_on_values(func), _values(primals), _values(tangents))
    if not has_aux:
        return _tensors(value), _tensors(tangent)
    return _tensors(value[0]), _tensors(tangent[0]), _tensors(value[1])


def linearize(func: _Function, *primals: _Any) -> _Any:
    """``torch.func.linearize``: return the value, and the linear function from tangents to its derivative."""
    value, push = _forward.linearize(_on_values(func), *_values(primals))
    return _tensors(value), lambda *tangents: _tensors(push(*_values(tangents)))


def functional_call(
    module: _Any,
    parameter_and_buffer_dicts: _Any,
    args: _Any = None,
    kwargs: dict[str, _Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
    **options: _Any,
) -> _Any:
    """``torch.func.functional_call``: call a module with other parameters and buffers.

    They may be tensors, arrays, or traced values of ``fg.grad``, ``fg.vmap`` and ``fg.jit``; ``forward`` gets tensors
    in each case, and the result is a tensor if all are tensors. ``key=`` and ``return_buffers=`` are those of
    ``nn.functional_call``.
    """
    given = (parameter_and_buffer_dicts, args, kwargs)
    bare = any(hasattr(x, "dtype") and not _is_tensor(x) for x in _leaves(given))
    values, lifted, named = _lift(given)
    y = _nn.functional_call(module, values, lifted, named, tie_weights=tie_weights, strict=strict, **options)
    return _map(_lower, y) if bare else y


def stack_module_state(models: _Any) -> tuple[dict[str, _Any], dict[str, _Any]]:
    """``torch.func.stack_module_state``: return the parameters and buffers of several modules, each stacked."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(type(each) is not type(models[0]) for each in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(named: str, requires_grad: bool) -> dict[str, _Any]:
        found = [dict(getattr(model, named)()) for model in models]
        made = {}
        for name in found[0]:
            rows = [each[name].detach() for each in found]
            made[name] = rows[0].unsqueeze(0).new_tensor([row.numpy() for row in rows])
            if requires_grad and found[0][name].requires_grad:
                made[name].requires_grad_()
        return made

    return stacked("named_parameters", True), stacked("named_buffers", False)


def functionalize(func: _Function, *, remove: str = "mutations") -> _Function:
    """``torch.func.functionalize``: return the function; its writes in place are functional here already."""
    if remove not in {"mutations", "mutations_and_views"}:
        raise RuntimeError("functionalize(f, remove='mutations'): received invalid argument for remove=" + str(remove))
    return func


def replace_all_batch_norm_modules_(root: _Any) -> _Any:
    """``torch.func.replace_all_batch_norm_modules_``: let batch norms keep no running statistics, in place."""
    for module in root.modules():
        if isinstance(module, _nn.BatchNorm1d | _nn.BatchNorm2d | _nn.BatchNorm3d):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.func", name, globals())


__dir__ = _publish(__name__)

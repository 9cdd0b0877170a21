"""``torch.utils.checkpoint``: values that are computed anew in the backward pass instead of being kept."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from funcgrad._public import publish as _publish
from funcgrad.autograd import enable_grad as _enable_grad
from funcgrad.autograd import grad as _grad
from funcgrad.autograd import is_grad_enabled as _is_grad_enabled
from funcgrad.autograd.extend import default_generator as _default_generator
from funcgrad.autograd.extend import is_tensor as _is_tensor
from funcgrad.torch.autograd._function import Function as _Function


class _Checkpointed(_Function):
    """A call whose backward pass runs the function again, with recording."""

    @staticmethod
    def forward(ctx: _Any, call: _Any, *tensors: _Any) -> _Any:
        ctx.call = call
        ctx.state = _default_generator.get_state() if call.keeps_random else None
        ctx.save_for_backward(*tensors)
        return call.run(tensors)

    @staticmethod
    def backward(ctx: _Any, *grads: _Any) -> _Any:
        inputs = [x.detach().requires_grad_(x.dtype.kind in "fc") for x in ctx.saved_tensors]
        after = _default_generator.get_state()
        if ctx.state is not None:
            _default_generator.set_state(ctx.state)
        with _enable_grad():
            out = ctx.call.run(inputs)
        if ctx.state is not None:
            _default_generator.set_state(after)
        ys = out if isinstance(out, tuple) else (out,)
        pairs = [(y, g) for y, g in zip(ys, grads, strict=True) if y.requires_grad]
        leaves = [x for x in (*inputs, *ctx.call.parameters) if x.requires_grad]
        found = iter(_grad([y for y, _ in pairs], leaves, [g for _, g in pairs], allow_unused=True))
        by_input = [next(found) if x.requires_grad else None for x in inputs]
        for parameter, gradient in zip(ctx.call.parameters, found, strict=True):
            if gradient is not None:
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        return (None, *by_input)


class _Call:
    """A function with its arguments, of which the tensors can be replaced."""

    def __init__(self, function: _Any, args: tuple[_Any, ...], options: dict[str, _Any], keeps_random: bool) -> None:
        self._function, self._args, self._options = function, args, options
        self.keeps_random = keeps_random
        owner: _Any = function if hasattr(function, "parameters") else getattr(function, "__self__", None)
        found = owner.parameters() if hasattr(owner, "parameters") else ()
        self.parameters = [p for p in found if p.requires_grad]

    def run(self, tensors: _Any) -> _Any:
        given = iter(tensors)
        return self._function(*[next(given) if _is_tensor(x) else x for x in self._args], **self._options)


def checkpoint(
    function: _Callable[..., _Any],
    *args: _Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **options: _Any,
) -> _Any:
    """``torch.utils.checkpoint.checkpoint``: call a function, and call it again in the backward pass.

    Args:
        function: a module or a function of tensors.
        args: its arguments; gradients flow to the tensors among them, and to the module's parameters.
        use_reentrant: PyTorch's choice of an implementation, which changes no result here.
        preserve_rng_state: draw the same random numbers in both calls.
        options: further arguments of the function.
    """
    del use_reentrant
    options.pop("determinism_check", None)
    call = _Call(function, args, options, preserve_rng_state)
    tensors = [x for x in args if _is_tensor(x)]
    if not _is_grad_enabled() or not any(x.requires_grad for x in (*tensors, *call.parameters)):
        return function(*args, **options)
    if not any(x.requires_grad for x in tensors):
        # The call is recorded, so that the pass reaches the parameters.
        tensors = [x.detach().requires_grad_() if x.dtype.kind in "fc" else x for x in tensors]
    return _Checkpointed.apply(call, *tensors)


__dir__ = _publish(__name__)

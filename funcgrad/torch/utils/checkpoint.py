"""``torch.utils.checkpoint``: values that are computed again in the backward pass instead of being kept."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from funcgrad._public import publish as _publish
from funcgrad.autograd import enable_grad as _enable_grad
from funcgrad.autograd import grad as _grad
from funcgrad.autograd import is_grad_enabled as _is_grad_enabled
from funcgrad.autograd.extend import default_generator as _default_generator
from funcgrad.autograd.extend import is_lifted as _is_lifted
from funcgrad.autograd.extend import is_tensor as _is_tensor
from funcgrad.nn import Sequential as _Sequential
from funcgrad.torch.autograd._function import Function as _Function
from funcgrad.torch.autograd._function import once_differentiable as _once_differentiable


class _Checkpointed(_Function):
    """A call that has run, whose backward pass runs the function again, with recording."""

    @staticmethod
    def forward(ctx: _Any, call: _Any, *tensors: _Any) -> _Any:
        ctx.call = call
        ctx.save_for_backward(*tensors)
        return call.out

    @staticmethod
    @_once_differentiable
    def backward(ctx: _Any, *grads: _Any) -> _Any:
        call = ctx.call
        count = len(call.tensors)
        pairs = zip(ctx.saved_tensors[:count], call.tensors, strict=True)
        inputs = [x.detach().requires_grad_(given.requires_grad) for x, given in pairs]
        after = _default_generator.get_state()
        if call.state is not None:
            _default_generator.set_state(call.state)
        try:
            with _enable_grad():
                out = call.run(inputs)
        finally:
            if call.state is not None:
                _default_generator.set_state(after)
        ys = out if isinstance(out, tuple) else (out,)
        pairs = [(y, g) for y, g in zip(ys, grads, strict=True) if y.requires_grad]
        leaves = [x for x in (*inputs, *call.leaves) if x.requires_grad]
        seeds = [g for _, g in pairs]
        found = iter(_grad([y for y, _ in pairs], leaves, seeds, retain_graph=True, allow_unused=True))
        return (None, *[next(found) if x.requires_grad else None for x in (*inputs, *call.leaves)])


class _CheckpointedCall:
    """A function with its arguments, of which the tensors can be replaced, and its first run."""

    def __init__(self, function: _Any, args: tuple[_Any, ...], options: dict[str, _Any], keeps_random: bool) -> None:
        self._function, self._args, self._options = function, args, options
        self.tensors = [x for x in args if _is_tensor(x)]
        self.state = _default_generator.get_state() if keeps_random else None
        inputs = [x.detach().requires_grad_(x.requires_grad) for x in self.tensors]
        out = self.run(inputs)
        # The leaves that the function reads without an argument: parameters of modules and of closures.
        known = {id(x) for x in inputs}
        self.leaves = [x for x in _leaves_of(out) if id(x) not in known]
        self.out = _detached(out)

    def run(self, tensors: _Any) -> _Any:
        given = iter(tensors)
        return self._function(*[next(given) if _is_tensor(x) else x for x in self._args], **self._options)


def _detached(out: _Any) -> _Any:
    return tuple([_detached(y) for y in out]) if isinstance(out, tuple) else out.detach() if _is_tensor(out) else out


def _leaves_of(out: _Any) -> list[_Any]:
    """Return the leaves that results depend on, by their graph."""
    outputs = out if isinstance(out, tuple) else (out,)
    pending = [y.grad_fn for y in outputs if _is_tensor(y) and y.grad_fn is not None]
    found = {id(y): y for y in outputs if _is_tensor(y) and y.is_leaf and y.requires_grad}
    seen = set(pending)
    while pending:
        for function, _ in pending.pop().next_functions:
            if function is None or function in seen:
                continue
            seen.add(function)
            if function.name() == "torch::autograd::AccumulateGrad":
                found[id(function.variable)] = function.variable
            else:
                pending.append(function)
    return list(found.values())


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
        args: its arguments; gradients flow to the tensors among them, and to all leaves that the function reads.
        use_reentrant: PyTorch's choice of an implementation, which changes no result here.
        preserve_rng_state: draw the same random numbers in both calls.
        options: further arguments of the function.

    Returns:
        What the function returns. A derivative of its derivative is refused. Inside of ``fg.grad`` and other transforms
        the function runs as it is, and ``fg.checkpoint`` saves memory there.

    Example:
        >>> import funcgrad.torch as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint(lambda x: (x**3).sum(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor([ 3., 12.])
    """
    del use_reentrant
    options.pop("determinism_check", None)
    if not _is_grad_enabled() or any(map(_is_lifted, args)):
        return function(*args, **options)
    before = _default_generator.get_state()
    call = _CheckpointedCall(function, args, options, preserve_rng_state)
    if any(map(_is_lifted, call.out if isinstance(call.out, tuple) else (call.out,))):
        # The function reads values of a transform, which differentiates the operations themselves.
        _default_generator.set_state(before)
        return function(*args, **options)
    return _Checkpointed.apply(call, *call.tensors, *call.leaves)


def checkpoint_sequential(
    functions: _Any,
    segments: int,
    input: _Any,  # noqa: A002  (PyTorch's name)
    use_reentrant: bool | None = None,
    **options: _Any,
) -> _Any:
    """``torch.utils.checkpoint.checkpoint_sequential``: apply functions in turn, in segments with `checkpoint`.

    Args:
        functions: a ``Sequential``, or a list of modules or functions.
        segments: the number of segments; the last one is not run again.
        input: the argument of the first function.
        use_reentrant: PyTorch's choice of an implementation, which changes no result here.
        options: those of `checkpoint`.

    Returns:
        What the last function returns.

    Example:
        >>> import funcgrad.torch as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint_sequential = torch.utils.checkpoint.checkpoint_sequential
        >>> checkpoint_sequential([torch.neg, torch.square, torch.square], 3, x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([ 4., 32.])
    """
    preserve = options.pop("preserve_rng_state", True)
    if options:
        raise ValueError("Unexpected keyword arguments: " + ",".join(options))
    steps = [*(functions.children() if isinstance(functions, _Sequential) else functions)]
    size = len(steps) // segments
    x, last = input, (segments - 1) * size
    for start in range(0, last, size):
        part = steps[start : start + size]
        x = checkpoint(lambda x, part=part: _in_turn(part, x), x, preserve_rng_state=preserve)
    return _in_turn(steps[last:], x)


def _in_turn(functions: list[_Any], x: _Any) -> _Any:
    for function in functions:
        x = function(x)
    return x


__dir__ = _publish(__name__)

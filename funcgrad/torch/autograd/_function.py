"""``torch.autograd.Function``: operations with a backward pass of the user's, over `funcgrad.custom_vjp`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._transforms.custom.decorators import custom_vjp
from funcgrad._types import Array
from funcgrad.autograd import is_grad_enabled, no_grad
from funcgrad.autograd.extend import TRACE, conjugated, is_lifted, is_tensor, lift, lower, take_result

_REMEDY = "Write it as a method with @staticmethod."


class FunctionCtx:
    """The first argument of ``forward`` and ``backward``: ``forward`` keeps tensors in it, and ``backward`` reads them.

    Args:
        needs_input_grad: for each argument of ``forward``, whether its gradient is needed.

    Example:
        >>> import funcgrad.torch as torch
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, name):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         print(type(ctx).__name__, ctx.needs_input_grad)
        ...         return 2 * grad, None
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> Double.apply(x, "twice").sum().backward()
        FunctionCtx (True, False)
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self.constant_outputs: tuple[int, ...] = ()
        self.dirty: tuple[int, ...] = ()
        self.materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors, or ``None``, for ``backward``, which reads them as ``ctx.saved_tensors``."""
        for x in tensors:
            if x is not None and not is_tensor(x):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(x).__name__}"
                )
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors, or ``None``, for ``jvp``, which reads them as ``ctx.saved_tensors``."""
        self.saved_for_forward = tensors

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """Declare outputs that carry no derivative."""
        self.constant_outputs = tuple([id(y) for y in outputs])

    def mark_dirty(self, *inputs: Any) -> None:
        """Declare inputs that ``forward`` has changed in place. It must return them."""
        self.dirty = tuple([id(x) for x in inputs])

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what ``backward`` gets for an output that nothing uses: zeros, or ``None``. Under `vmap`: zeros."""
        self.materialize_grads = bool(value)


class Function:
    """An operation with a forward and a backward pass of its own, as ``torch.autograd.Function``.

    A subclass has static methods ``forward`` and ``backward``, and is called by ``apply``. ``forward`` takes the
    context first, or ``setup_context(ctx, inputs, output)`` gets it afterwards. ``backward`` takes the context and a
    gradient for each output, and returns a gradient, or ``None``, for each argument. It may be differentiated again.

    Example:
        >>> import funcgrad.torch as torch
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return grad * 3 * x**2
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> Cube.apply(x).sum().backward()
        >>> x.grad
        tensor([ 3., 12.])

    Source: ``torch.autograd.Function``. ``forward`` runs once more for each further derivative.
    """

    def __init__(self) -> None:
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, so you "
            "should invoke them on the class itself. Instantiating an autograd function will raise an error in a "
            "future version of PyTorch."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise NotImplementedError(f"You must implement the forward function for custom autograd.Function. {_REMEDY}")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Array) -> Any:
        """Keep what ``backward`` needs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients by the arguments."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            f"backward mode AD. {_REMEDY}"
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs by those of the arguments; an argument that is no tensor has ``None``."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD. "
            f"{_REMEDY}"
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the operation on tensors and other values."""
        places = [i for i, x in enumerate(args) if is_tensor(x)]
        recorded = is_grad_enabled() and any(args[i].requires_grad for i in places)
        needed = tuple([is_tensor(x) and (x.requires_grad or is_lifted(x)) for x in args])
        call = _Call(cls, args, places, FunctionCtx(needed))
        if not recorded and not any(is_lifted(args[i]) for i in places):
            return call.outputs([args[i] for i in places])
        return call.recorded()


Function.vjp = Function.backward  # pyright: ignore[reportAttributeAccessIssue]  (PyTorch's other name)


class _Call:
    """One call of a function: its arguments, of which some are tensors, and its context."""

    def __init__(self, kind: type[Function], args: tuple[Any, ...], places: list[int], ctx: FunctionCtx) -> None:
        self.kind, self.args, self.places, self.ctx = kind, args, places, ctx
        self.is_one = True
        # The outputs that are no tensors, by their number. ``backward`` gets ``None`` for them.
        self.plain: dict[int, Any] = {}
        # The arguments that ``forward`` has changed in place, by the number of the output.
        self.changed: dict[int, Any] = {}

    def outputs(self, tensors: list[Any]) -> Any:
        """Run ``forward`` with tensors in their places, and without recording."""
        given = list(self.args)
        for i, x in zip(self.places, tensors, strict=True):
            given[i] = x
        # A transform around this call differentiates, maps or stages the operations of ``forward``.
        with contextlib.nullcontext() if any(map(is_lifted, tensors)) else no_grad():
            if self.kind.setup_context is Function.setup_context:
                out = self.kind.forward(self.ctx, *given)
            else:
                out = self.kind.forward(*given)
                self.kind.setup_context(self.ctx, tuple(given), out)
        self.is_one = not isinstance(out, tuple)
        outs = (out,) if self.is_one else out
        self.plain = {k: y for k, y in enumerate(outs) if not is_tensor(y)}
        if self.ctx.dirty:
            self._note_changed(given, [y for y in outs if is_tensor(y)])
        return out

    def _note_changed(self, given: list[Any], outs: list[Any]) -> None:
        """Note which outputs are arguments that ``forward`` has changed in place."""
        numbers = {id(y): k for k, y in enumerate(outs)}
        if any(one not in numbers for one in self.ctx.dirty):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
        if any(is_lifted(given[i]) for i in self.places):
            raise NotImplementedError(
                f"mark_dirty: {self.kind.__name__} changed its argument in place inside of a transform. Compute and "
                "return a new tensor."
            )
        self.changed = {numbers[id(given[i])]: self.args[i] for i in self.places if id(given[i]) in self.ctx.dirty}

    def recorded(self) -> Any:
        """Run ``forward`` and record ``backward`` as its derivative."""
        ys = self._custom()(*[_inner(self.args[i]) for i in self.places])
        ys = [_as_tensor(y) for y in ys]
        made, title = [], f"{self.kind.__name__}Backward"
        for k, (y, is_constant) in enumerate(zip(ys, self.constant, strict=True)):
            if getattr(y, "_node", None) is not None:
                y._node.title = title
            if k in self.changed:
                y = take_result(self.changed[k], y, title)  # noqa: PLW2901  (the argument itself is the output)
            made.append(y.detach() if is_constant else y)
        made = self._with_plain(made, self.plain)
        return made[0] if self.is_one else tuple(made)

    def _with_plain(self, tensors: list[Any], plain: dict[int, Any]) -> list[Any]:
        """Return a value for each output: of tensors in their order, and of the others by their number."""
        rest = iter(tensors)
        return [plain[k] if k in plain else next(rest) for k in range(len(tensors) + len(plain))]

    def _custom(self) -> Callable[..., Any]:
        function: Any = custom_vjp(self._primal)
        function.defvjp(lambda *xs: self._forward(xs), self._backward, instantiate=False)
        function.defjvp(self._pushed)
        functools.update_wrapper(function, self.kind.forward)
        function.__name__ = self.kind.__name__
        return function

    def _several(self, xs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run ``forward`` and return its tensors as a tuple, after noting which are constant, and their types."""
        out = self.outputs([_as_tensor(x) for x in xs])
        outs = tuple([y for y in ((out,) if self.is_one else out) if is_tensor(y)])
        self.constant = tuple([id(y) in self.ctx.constant_outputs for y in outs])
        self.avals = tuple([aval_of(y) for y in outs])
        return outs

    def _primal(self, *xs: Any) -> tuple[Any, ...]:
        """Return the outputs for arrays, traced values or tensors, in kind."""
        outs = self._several(xs)
        return outs if any(map(is_tensor, xs)) else tuple(map(_value, outs))

    def _forward(self, xs: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the outputs, and what was saved, for arrays, traced values or tensors that are recorded."""
        if self.changed:
            raise RuntimeError(
                f"{self.kind.__name__} has changed its argument in place, so its value before is lost and a further "
                "derivative cannot run forward again. Compute and return a new tensor."
            )
        outs = self._several(xs)
        saved = self.ctx.saved_tensors
        is_traced = any(not is_tensor(x) and hasattr(x, "aval") for x in xs)
        is_recorded = any(is_tensor(x) and x.requires_grad for x in xs)
        if is_traced or (is_recorded and any(s is y for s in saved for y in outs)):
            # For a further derivative, an output depends on the inputs by ``backward``. The call has a context of its
            # own, because a transform may leave its values in it.
            fresh = _Call(self.kind, self.args, self.places, FunctionCtx(self.ctx.needs_input_grad))
            again = [_as_tensor(y) for y in fresh._custom()(*xs)]
            saved = tuple([next((z for y, z in zip(outs, again, strict=True) if s is y), s) for s in saved])
            outs = tuple(again) if is_traced else outs
        self.ctx.saved_tensors = saved
        bare = not any(map(is_tensor, xs))
        kept = tuple([_value(s) if bare and is_tensor(s) else s for s in saved])
        return tuple([_value(y) if bare else y for y in outs]), kept

    def _pushed(self, xs: tuple[Any, ...], x_dots: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the outputs and their tangents, by ``jvp``."""
        outs = self._several(xs)
        given: list[Any] = [None] * len(self.args)
        for i, x_dot in zip(self.places, x_dots, strict=True):
            given[i] = _as_tensor(x_dot)
        self.ctx.saved_tensors = self.ctx.saved_for_forward
        found = self.kind.jvp(self.ctx, *given)
        dots = found if isinstance(found, tuple) else (found,)
        dots = [y_dot for k, y_dot in enumerate(dots) if k not in self.plain]
        y_dots = [y * 0 if y_dot is None else y_dot for y, y_dot in zip(outs, dots, strict=True)]
        bare = not any(map(is_tensor, (*xs, *x_dots)))
        return tuple([_value(y) if bare else y for y in outs]), tuple([_value(y) if bare else y for y in y_dots])

    def _backward(self, saved: tuple[Any, ...], bars: tuple[Any, ...]) -> tuple[Any, ...]:
        is_recorded = any(map(is_tensor, bars))
        as_tensors = [s if s is None else _as_tensor(s) for s in saved]
        self.ctx.saved_tensors = tuple(as_tensors)
        given = [
            conjugated(_as_tensor(bar)) if bar is not None else self._absent(aval)
            for bar, aval in zip(bars, self.avals, strict=True)
        ]
        given = self._with_plain(given, dict.fromkeys(self.plain))
        if (
            is_recorded
            or any(y is not None and is_lifted(y) for y in given)
            or any(s is not None and is_lifted(s) for s in as_tensors)
        ):
            found = self.kind.backward(self.ctx, *given)
        else:
            with no_grad():
                found = self.kind.backward(self.ctx, *given)
        grads = found if isinstance(found, tuple) else (found,)
        self._check(grads)
        return tuple([self._cotangent(grads[i], is_recorded=is_recorded) for i in self.places])

    def _absent(self, aval: Aval) -> Any:
        """Return the gradient of an output that nothing uses."""
        return TRACE.constant(np.zeros(aval.shape, aval.dtype)) if self.ctx.materialize_grads else None

    def _cotangent(self, grad: Any, *, is_recorded: bool) -> Any:
        if grad is None:
            return None
        bar = conjugated(grad)
        return bar if is_recorded else _value(bar)

    def _check(self, grads: tuple[Any, ...]) -> None:
        name = f"{self.kind.__name__}Backward"
        extra = grads[len(self.args) :]
        if len(grads) < len(self.args) or any(g is not None for g in extra):
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {len(self.args)}, got "
                f"{len(grads)})"
            )
        for i in self.places:
            grad, x = grads[i], self.args[i]
            if grad is None:
                continue
            if not is_tensor(grad):
                raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
            if grad.shape != x.shape:
                raise RuntimeError(
                    f"Function {name} returned an invalid gradient at index {i} - got {list(grad.shape)} but expected "
                    f"shape compatible with {list(x.shape)}"
                )


def _as_tensor(x: Array) -> Any:
    """Return an array or a traced value as a tensor; tensors as they are."""
    return x if is_tensor(x) else lift(x) if hasattr(x, "aval") else TRACE.constant(np.asarray(x))


def _value(x: Array) -> Any:
    """Return the array or the traced value of a tensor."""
    return lower(x) if is_lifted(x) else x._value


def _inner(x: Array) -> Any:
    """Return the traced value of a tensor that a transform made; other tensors as they are."""
    return lower(x) if is_lifted(x) else x


class _Refused(Function):
    @staticmethod
    def forward(ctx: Any, x: Array) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a ``backward`` whose own operations cannot be differentiated: a further derivative is refused.

    Args:
        fn: the static method ``backward``.

    Returns:
        The method for the class. A derivative of what it returns raises ``RuntimeError``.

    Example:
        >>> import funcgrad.torch as torch
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @torch.autograd.function.once_differentiable
        ...     def backward(ctx, grad):
        ...         return 2 * grad

    Source: ``torch.autograd.function.once_differentiable``.
    """

    @functools.wraps(fn)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            found = fn(ctx, *grads)
        if not any(is_tensor(g) and g.requires_grad for g in grads):
            return found
        results = found if isinstance(found, tuple) else (found,)
        made = [None if y is None else _Refused.apply(y.detach().requires_grad_()) for y in results]
        return tuple(made) if isinstance(found, tuple) else made[0]

    return wrapped

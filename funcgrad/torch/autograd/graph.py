"""``torch.autograd.graph``: the nodes of the graph, and hooks of the tensors that they keep."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from funcgrad._public import publish as _publish
from funcgrad._types import Tensor
from funcgrad.autograd.extend import (
    TRACE,
    WRITES,
    GradientEdge,
    Pair,
    RemovableHandle,
    at_end,
    is_tensor,
    pack_result,
    pairs,
)
from funcgrad.autograd.extend import NodeFunction as Node
from funcgrad.torch import _names

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

# The reason why hooks are refused here, if they are.
_refusal: ContextVar[str | None] = ContextVar("funcgrad_saved_tensors_hooks_disabled", default=None)
_counting = threading.Lock()
# One entry for each pair of hooks that is in use, in any thread.
_entered: list[Pair] = []


class saved_tensors_hooks:  # noqa: N801  (PyTorch's name)
    """``torch.autograd.graph.saved_tensors_hooks``: hooks of the tensors that operations keep for their derivatives.

    Inside the context, ``pack_hook`` gets each tensor that an operation keeps, and its result, any object, is kept
    instead. The backward pass gives this object to ``unpack_hook``, which returns the tensor.

    Args:
        pack_hook: a function of a tensor. It must not change the tensor.
        unpack_hook: a function of what ``pack_hook`` returned; it returns a tensor.

    Raises:
        RuntimeError: hooks are disabled, or a tensor was changed.
        TypeError: ``unpack_hook`` did not return a tensor.

    Example:
        >>> import funcgrad.torch as torch
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().tolist(), torch.tensor):
        ...     y = x.exp()
        >>> y.backward()
        >>> bool(x.grad == y)
        True

    Source: ``torch.autograd.graph.saved_tensors_hooks``. Operations that keep their tensors together (sorts, recurrent
    layers, custom functions) call no hook.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        reason = _refusal.get()
        if reason is not None:
            raise RuntimeError(reason)
        pair = Pair(self.pack_hook, self.unpack_hook)
        pairs.set((*pairs.get(), pair))
        with _counting:
            _entered.append(pair)
            TRACE.set_pack(pack_result)

    def __exit__(self, *_: object) -> None:
        *outer, pair = pairs.get()
        pairs.set(tuple(outer))
        with _counting:
            _entered.remove(pair)
            TRACE.set_pack(pack_result if _entered else None)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801  (PyTorch's name)
    """``torch.autograd.graph.save_on_cpu``: keep what operations keep as NumPy arrays, and put it back when needed.

    Args:
        pin_memory: changes nothing here.
        device_type: changes nothing here.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        del pin_memory, device_type
        # The copy is safe from writes, which hooks hide from the checks of the pass.
        super().__init__(lambda x: (x.device, x.cpu().clone()), lambda kept: kept[1].to(kept[0]))


class disable_saved_tensors_hooks:  # noqa: N801  (PyTorch's name)
    """``torch.autograd.graph.disable_saved_tensors_hooks``: refuse hooks of saved tensors inside the context.

    Args:
        error_message: the text of the error.
    """

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def __enter__(self) -> None:
        self._token = _refusal.set(self._message)

    def __exit__(self, *_: object) -> None:
        _refusal.reset(self._token)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """``torch.autograd.graph.increment_version``: note a write to tensors that nothing else shows."""
    WRITES.note([tensor] if is_tensor(tensor) else list(tensor))  # pyright: ignore[reportArgumentType]  (tensors)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """``torch.autograd.graph.get_gradient_edge``: the edge of the graph that leads to a tensor.

    ``torch.autograd.grad`` and ``backward`` take it in place of the tensor.

    Args:
        tensor: a tensor that requires a gradient.

    Raises:
        RuntimeError: it requires none.

    Example:
        >>> import funcgrad.torch as torch
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> edge = torch.autograd.graph.get_gradient_edge(x)
        >>> torch.autograd.grad(x**2, edge)
        (tensor([6.]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    return GradientEdge(tensor.view_as(tensor).grad_fn.next_functions[0][0] if node is None else node, 0, tensor)


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """``torch.autograd.graph.register_multi_grad_hook``: call a function with the gradients of several tensors.

    Args:
        tensors: tensors that require gradients.
        fn: with ``mode="all"`` a function of the list of the tensors' gradients, with ``None`` for a tensor that the
            pass does not reach; it is called at the end of each pass that reaches one. With ``mode="any"`` a function
            of the first gradient that a pass computes.
        mode: ``"all"`` or ``"any"``.

    Returns:
        A handle whose ``remove()`` removes the function from all tensors.

    Raises:
        ValueError: ``mode`` is another one.

    Example:
        >>> import funcgrad.torch as torch
        >>> a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        >>> handle = torch.autograd.graph.register_multi_grad_hook([a, b], print)
        >>> (a * 2).sum().backward()
        [tensor([2., 2.]), None]

    Source: ``torch.autograd.graph.register_multi_grad_hook``, which calls ``fn`` as soon as the last gradient is there.
    """
    if mode not in {"all", "any"}:
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    group = _Group(len(tensors), fn)
    take = group.take if mode == "all" else group.take_first
    return _Handles([x.register_hook(functools.partial(take, i)) for i, x in enumerate(tensors)])


class _Group:
    """Tensors whose gradients one function takes."""

    def __init__(self, count: int, function: Callable[[Any], None]) -> None:
        self._count = count
        self._function = function

    def take(self, i: int, gradient: Tensor) -> None:
        """Keep a gradient until the end of the pass."""
        ends = _ends()
        if self not in ends:
            found: list[Any] = [None] * self._count
            ends[self] = found, lambda: self._function(found)
        ends[self][0][i] = gradient

    def take_first(self, i: int, gradient: Tensor) -> None:
        """Call the function with the first gradient of the pass."""
        del i
        ends = _ends()
        if self not in ends:
            ends[self] = None, lambda: None
            self._function(gradient)


def _ends() -> dict[Any, tuple[Any, Callable[[], None]]]:
    running = at_end.get()
    assert running is not None
    return running


class _Handles(RemovableHandle):
    """The handle of the hooks of several tensors."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Remove all hooks."""
        for handle in self._handles:
            handle.remove()


def __getattr__(name: str) -> Any:
    return _names.refuse("torch.autograd.graph", name, globals())


__dir__ = _publish(__name__)

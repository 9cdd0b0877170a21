"""``torch.autograd.graph``: the nodes of the graph, and hooks of the tensors that they keep."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from funcgrad._public import publish as _publish
from funcgrad._types import Tensor
from funcgrad.autograd.extend import TRACE, WRITES, Pair, is_tensor, pack_result, pairs
from funcgrad.autograd.extend import NodeFunction as Node
from funcgrad.torch import _names

__all__ = ["Node", "disable_saved_tensors_hooks", "increment_version", "save_on_cpu", "saved_tensors_hooks"]

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


def __getattr__(name: str) -> Any:
    return _names.refuse("torch.autograd.graph", name, globals())


__dir__ = _publish(__name__)

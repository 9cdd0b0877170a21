"""``Optimizer``: PyTorch's base class of optimizers. It holds parameters, groups and state, and no arithmetic."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Container, Mapping
from typing import Any, ClassVar

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import is_engine_value, is_value
from funcgrad._core.words import shown
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import Array, ArrayLike, Params
from funcgrad.autograd.extend import WRITES, Hooks, RemovableHandle, gradient_of, is_tensor, rebuild, was_read
from funcgrad.optim._torch.groups import UNORDERED, checked_group, required, typename
from funcgrad.optim._torch.state_dict import load_groups, load_state, pack_groups, pack_state
from funcgrad.tree import TreeDef, flatten, structure, unflatten

__all__ = ["Optimizer", "required"]

_HOOKS = (
    "_step_pre",
    "_step_post",
    "_state_dict_pre",
    "_state_dict_post",
    "_load_state_dict_pre",
    "_load_state_dict_post",
)


class Optimizer:
    """Base class of optimizers. Subclass it as in PyTorch.

    A subclass calls ``super().__init__(params, defaults)`` and defines ``step``. Options of `defaults` that are
    `required` must be given for each group.

    Args:
        params: an iterable of tensors, of ``(name, tensor)`` pairs or of dicts with ``"params"`` and options: the
            parameter groups. Or any pytree of NumPy or JAX arrays, for ``step(grads=...)``.
        defaults: the options of a group that does not give its own.

    Raises:
        TypeError: ``params`` is a tensor or a set, or holds other objects than tensors.
        ValueError: there are no parameters, one is no leaf, one is in two groups, or a required option is missing.

    Example:
        >>> from funcgrad.autograd import no_grad, tensor
        >>> from funcgrad.optim import Optimizer, required
        >>> class Descent(Optimizer):
        ...     def __init__(self, params, lr=required):
        ...         super().__init__(params, {"lr": lr})
        ...
        ...     @no_grad()
        ...     def step(self):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p -= group["lr"] * p.grad
        >>> w = tensor([1.0, 2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> Descent([w], lr=0.25).step()
        >>> w
        tensor([0.5000, 1.0000], requires_grad=True)

    Source: ``torch.optim.Optimizer``. Differs from recent versions: `zero_grad` sets gradients to zero by default.
    """

    # The keys of entries of the state that have no dtype of their parameter.
    _numbers: ClassVar[Container[str]] = ("step",)
    _step_pre: Hooks
    _step_post: Hooks
    _state_dict_pre: Hooks
    _state_dict_post: Hooks
    _load_state_dict_pre: Hooks
    _load_state_dict_post: Hooks

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        if is_tensor(params):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        # The structure of the pytree of arrays, if one was given.
        self._treedef: TreeDef | None = None
        groups = self._groups_of(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in vars(cls):
            setattr(cls, "step", _with_hooks(vars(cls)["step"]))  # noqa: B010  (the attribute of any subclass)

    def _groups_of(self, params: Params) -> list[Any]:
        """Return groups or tensors. The arrays of a pytree become tensors that share their memory."""
        if isinstance(params, set):
            raise TypeError(UNORDERED)
        if not isinstance(params, dict) and not is_value(params):
            params = list(params)
            if params and all(isinstance(group, dict) and "params" in group for group in params):
                return self._with_tensors(params)
            if not params or is_tensor(params[0]) or (isinstance(params[0], dict) and "params" in params[0]):
                return params
        leaves, treedef = flatten(params)
        if not all(_is_array(leaf) for leaf in leaves):
            return list(params)
        self._treedef = treedef
        return list(map(_tensor, leaves))

    def _with_tensors(self, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return groups of pytrees of arrays as groups of tensors, and other groups as they are."""
        flat = [flatten(group["params"]) for group in groups]
        if not all(leaves and all(map(_is_array, leaves)) for leaves, _ in flat):
            return groups
        self._treedef = structure([group["params"] for group in groups])
        return [
            {**group, "params": list(map(_tensor, leaves))} for group, (leaves, _) in zip(groups, flat, strict=True)
        ]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, optionally with its own options."""
        self.param_groups.append(checked_group(param_group, self.param_groups, self.defaults))

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Set the gradients of all parameters to zero.

        Args:
            set_to_none: set them to ``None`` instead, which saves memory and time; the default of newer PyTorch.
        """
        for group in self.param_groups:
            for p in group["params"]:
                gradient = gradient_of(p)
                if gradient is None:
                    continue
                if set_to_none:
                    p.grad = None
                elif type(gradient._value) is not np.ndarray:
                    p.grad = rebuild(zeros_like(gradient._value), False)
                else:
                    if gradient._node is not None:
                        gradient.detach_()
                    if was_read(gradient):
                        WRITES.note((gradient,))
                    gradient._value.fill(0)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step. Subclasses define it.

        Args:
            closure: computes the loss again, with gradients, and returns it.
        """
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return groups and state as dicts in PyTorch's layout, parameters replaced by their numbers.

        ``{"state": {0: {"momentum_buffer": tensor}, ...}, "param_groups": [{"lr": 0.1, ..., "params": [0, ...]}]}``
        """
        for hook in self._state_dict_pre.values():
            hook(self)
        packed = {"state": pack_state(self.state, self.param_groups), "param_groups": pack_groups(self.param_groups)}
        for hook in self._state_dict_post.values():
            changed = hook(self, packed)
            packed = packed if changed is None else changed
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load groups and state from the result of `state_dict`, from here or from PyTorch.

        Floating-point state is converted to the dtype and device of its parameter. State that belongs to no parameter
        is loaded unchanged.

        Raises:
            ValueError: the groups differ in number or size from this optimizer's.
        """
        if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= set(state_dict):
            raise ValueError(
                f"load_state_dict: state_dict is {shown(state_dict)}; needed a dict with 'state' and "
                "'param_groups'. Pass "
                "what state_dict() returned."
            )
        state_dict = dict(state_dict)
        for hook in self._load_state_dict_pre.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups = load_groups(state_dict["param_groups"], self.param_groups)
        state = load_state(state_dict, self.param_groups, self._numbers)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._load_state_dict_post.values():
            hook(self)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return changed ``(args, kwargs)``.

        The first of ``args`` is the optimizer.
        """
        return RemovableHandle.register(self._step_pre, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle.register(self._step_post, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict`."""
        return RemovableHandle.register(self._state_dict_pre, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after `state_dict`; it may return another dict."""
        return RemovableHandle.register(self._state_dict_post, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before `load_state_dict`; it may return another dict."""
        return RemovableHandle.register(self._load_state_dict_pre, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after `load_state_dict`."""
        return RemovableHandle.register(self._load_state_dict_post, hook, prepend)

    def _tree(self) -> Any:
        """Return the parameters as arrays, in the structure in which they were given."""
        values = [p._value for group in self.param_groups for p in group["params"]]
        return values if self._treedef is None else unflatten(self._treedef, values)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_treedef", None)
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("\n".join([f"Parameter Group {i}", *options, ""]))
        return f"{type(self).__name__} (\n" + "\n".join(lines) + ")"


def _tensor(x: Array) -> Any:
    """Return a tensor that shares the memory of an array."""
    return rebuild(x, requires_grad=is_inexact(x.dtype))


def _is_array(x: ArrayLike) -> bool:
    return type(x) is np.ndarray or (is_value(x) and is_engine_value(x))


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a subclass's ``step`` to call the hooks, once even if several classes inherit it."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        before, after = self._step_pre, self._step_post
        if not before and not after:
            return step(self, *args, **kwargs)
        # Hooks see all arguments, including the optimizer, as PyTorch's do.
        args = (self, *args)
        for hook in before.values():
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in after.values():
            hook(self, args, kwargs)
        return result

    return hooked

"""Parameters that are computed from others, as ``torch.nn.utils.parametrize`` does.

A parametrized module keeps its class. Its attribute is computed from ``module.parametrizations`` at each access.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from funcgrad._public import publish
from funcgrad._types import Array, DTypeLike
from funcgrad.autograd import no_grad
from funcgrad.autograd.extend import is_tensor
from funcgrad.nn._containers import ModuleDict, ModuleList
from funcgrad.nn._module import Module
from funcgrad.nn._parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]

# The computed tensors of a `cached` block, by the list that computes each; ``None`` outside of such blocks.
_cache: ContextVar[dict[int, Any] | None] = ContextVar("funcgrad_nn_parametrized", default=None)


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once in a ``with`` block.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(nn.Linear(2, 1))
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    held = _cache.get()
    token = _cache.set({} if held is None else held)
    try:
        yield
    finally:
        _cache.reset(token)


def _register(module: Module, name: str, x: Array) -> None:
    if isinstance(x, Parameter):
        module.register_parameter(name, x)
    else:
        module.register_buffer(name, x)


class ParametrizationList(ModuleList):
    """The modules that compute one tensor of a module, and the parameters that they compute it from.

    Args:
        modules: the parametrizations, of which each gets the result of the one before it.
        original: the parameter or buffer that is replaced.
        unsafe: whether dtype and shape may change.

    Raises:
        ValueError: the parametrizations change dtype or shape, or return no tensor.
    """

    def __init__(self, modules: Sequence[Module], original: Array, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = original
            for module in reversed([*self]):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not is_tensor(new) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        self._hold(original, new)
        if not unsafe:
            _check("tensor", shape, dtype, self())

    def _hold(self, original: Array, new: Any) -> None:
        """Register what the first parametrization computes the tensor from: one tensor, or several."""
        self.is_tensor = is_tensor(new)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: torch.{original.dtype}\nright_inverse(original).dtype: torch.{new.dtype}"
                )
            # The parameter stays the same object, so that an optimizer that has it needs no change.
            if new is not original:
                original.data = new.detach()
            _register(self, "original", original)
        else:
            is_recorded: bool = getattr(original, "requires_grad", False)
            for i, each in enumerate(new):
                if not is_tensor(each):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(each).__name__}."
                    )
                made = Parameter(each, is_recorded) if isinstance(original, Parameter) else each
                _register(self, f"original{i}", made)

    def originals(self) -> list[Any]:
        """Return the tensors that the parametrized one is computed from."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self) -> Any:
        """Compute the parametrized tensor."""
        x: Any = self.originals()
        for module in self:
            x = module(*x) if isinstance(x, list) else module(x)
        return x

    def value(self) -> Any:
        """Return the parametrized tensor: that of the `cached` block, if there is one."""
        cache = _cache.get()
        if cache is None:
            return self()
        if id(self) not in cache:
            cache[id(self)] = self()
        return cache[id(self)]

    def right_inverse(self, value: Any) -> None:
        """Set the original tensors so that they give a value.

        Raises:
            RuntimeError: a parametrization has no ``right_inverse``.
            ValueError: ``right_inverse`` returns other dtypes, or another number of tensors, than before.
        """
        with no_grad():
            for module in reversed([*self]):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            given = [value] if self.is_tensor else list(value)
            if len(given) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                    f"length {len(given)}."
                )
            held = self.originals()
            for i, (old, new) in enumerate(zip(held, given, strict=True)):
                if not is_tensor(new) or new.dtype != old.dtype:
                    got = f"dtype {new.dtype}" if is_tensor(new) else f"type {type(new).__name__}"
                    raise ValueError(
                        f"right_inverse: tensor {i} has {got}, and the original has dtype {old.dtype}; needed the same."
                    )
            for old, new in zip(held, given, strict=True):
                old.data = new.detach()


def _check(what: str, shape: tuple[int, ...], dtype: DTypeLike, made: Any) -> None:
    """Refuse a parametrization that does not return a tensor of the shape and dtype of the one it replaces."""
    if not is_tensor(made):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    may = f"Registering a parametrization may not change the {{}} of the {what}, unless `unsafe` flag is enabled.\n"
    if made.dtype != dtype:
        raise ValueError(
            f"{may.format('dtype')}unparametrized dtype: torch.{dtype}\nparametrized dtype: torch.{made.dtype}"
        )
    if made.shape != shape:
        sizes = [f"torch.Size({list(each)})" for each in (shape, made.shape)]
        raise ValueError(f"{may.format('shape')}unparametrized shape: {sizes[0]}\nparametrized shape: {sizes[1]}")


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace a parameter or buffer by the result of a module that computes it from the former one.

    Args:
        module: the module that has the tensor.
        tensor_name: the name of the parameter or buffer, without dots.
        parametrization: a module from tensors to tensors. Its ``right_inverse``, if it has one, makes the parameter of
            the tensor, or several of them.
        unsafe: whether dtype and shape may change.

    Returns:
        The module.

    Raises:
        ValueError: the module has no such tensor, or the parametrization changes dtype or shape.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import parametrize
        >>> class Symmetric(nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        >>> layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.T).all())
        True

    Source: ``torch.nn.utils.parametrize``, whose modules change their class.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        held = module.parametrizations[tensor_name]
        if not unsafe:
            before = getattr(module, tensor_name)
            _check("tensor", before.shape, before.dtype, parametrization(before))
        held.append(parametrization)
        held.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:  # noqa: SLF001  (the same room)
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has a parametrized tensor, or the one with a name.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import parametrize
        >>> parametrize.is_parametrized(nn.Linear(2, 1))
        False
    """
    held = module._modules.get("parametrizations")  # noqa: SLF001  (the same room)
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor a parameter or buffer again.

    Args:
        module: the module.
        tensor_name: the name of the tensor.
        leave_parametrized: whether the tensor keeps its present value; otherwise it gets that of the original one.

    Returns:
        The module.

    Raises:
        ValueError: the tensor is not parametrized, or several originals should be left as one tensor.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(nn.Linear(2, 1))
        >>> parametrize.remove_parametrizations(layer, "weight")
        Linear(in_features=2, out_features=1, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if not held.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    value: Any = getattr(module, tensor_name)
    if held.is_tensor:
        left: Any = held.original
        if leave_parametrized:
            left.data = value.detach()
    else:
        left = Parameter(value) if value.requires_grad else value
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
    _register(module, tensor_name, left)
    return module


def type_before_parametrizations(module: Module) -> type[Module]:
    """Return the class of a module, which parametrizations do not change here.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import parametrize
        >>> parametrize.type_before_parametrizations(nn.Linear(2, 1)) is nn.Linear
        True
    """
    return type(module)


__dir__ = publish(__name__)

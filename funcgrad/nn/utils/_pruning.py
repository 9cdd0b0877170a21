"""Methods of pruning: each computes a mask of ones and zeros, by which a parameter is multiplied."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad._types import Array, ScalarLike
from funcgrad.autograd import Tensor, no_grad, tensor
from funcgrad.autograd.extend import default_generator
from funcgrad.nn._module import Module


def check_amount(amount: ScalarLike) -> None:
    """Refuse an amount that is neither a part from 0 to 1 nor a count."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    largest = math.inf if isinstance(amount, numbers.Integral) else 1.0
    if not 0.0 <= float(amount) <= largest:
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def count_of(amount: ScalarLike, size: int) -> int:
    """Return how many of some elements an amount means."""
    count = int(amount) if isinstance(amount, numbers.Integral) else round(amount * size)
    if count > size:
        raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
    return count


def _numbers(x: Array) -> np.ndarray:
    return np.asarray(x.detach()._value if isinstance(x, Tensor) else x)


class BasePruningMethod:
    """Base class of methods of pruning. A subclass defines ``PRUNING_TYPE`` and `compute_mask`.

    ``PRUNING_TYPE`` is ``"unstructured"``, ``"structured"`` (with the attribute ``dim``) or ``"global"``.
    """

    PRUNING_TYPE = "unstructured"
    tensor_name: str | None = None

    def compute_mask(self, t: Array, default_mask: Array) -> Any:
        """Return the mask for importances ``t``, on top of a former mask."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        del inputs
        setattr(module, str(self.tensor_name), self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """Return the parameter times its mask."""
        if self.tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = [getattr(module, f"{self.tensor_name}_{part}") for part in ("mask", "orig")]
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Array = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter of a module, on top of what pruned it before, and return the method."""
        made = cls(*args, **kwargs)
        made.tensor_name = name
        former = pruning_of(module, name)
        method = made if former is None else PruningContainer.joined(former[1], made)
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
                f"{original.shape}"
            )
        default = getattr(module, f"{name}_mask").detach().clone() if former else tensor(np.ones_like(_numbers(scores)))
        with no_grad():
            mask = method.compute_mask(scores, default_mask=default)
        # The module changes only from here on, so a method that raises leaves it as it was.
        if former is not None:
            del module.__dict__["_forward_pre_hooks"][former[0]]
        else:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Array, default_mask: Array = None, importance_scores: Array = None) -> Any:
        """Return a pruned tensor; no module is changed."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}"
            )
        default = tensor(np.ones_like(_numbers(t))) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor the parameter's value."""
        name = str(self.tensor_name)
        weight = self.apply_mask(module).detach()
        original = getattr(module, f"{name}_orig")
        for each in (name, f"{name}_orig", f"{name}_mask"):
            delattr(module, each)
        original.data = weight
        module.register_parameter(name, original)


def pruning_of(module: Module, name: str | None = None) -> tuple[int, BasePruningMethod] | None:
    """Return the number and the method of a module's pruning hook: of one parameter, or of any."""
    for number, hook in module.__dict__.get("_forward_pre_hooks", {}).items():
        method = hook.function
        if isinstance(method, BasePruningMethod) and name in (None, method.tensor_name):
            return number, method
    return None


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter; the last one computes its mask where the former ones left elements."""

    def __init__(self, *methods: BasePruningMethod) -> None:
        self.methods: tuple[BasePruningMethod, ...] = ()
        self.tensor_name = methods[0].tensor_name if methods else None
        for method in methods:
            self.add_pruning_method(method)

    @classmethod
    def joined(cls, former: BasePruningMethod, made: BasePruningMethod) -> PruningContainer:
        """Return a container of a method, or of those of a container, and one more."""
        held = former.methods if isinstance(former, PruningContainer) else (former,)
        return cls(*held, made)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method.tensor_name != self.tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self.tensor_name}' to "
                f"PruningContainer {self}. Found '{method.tensor_name}'"
            )
        self.methods += (method,)

    def __len__(self) -> int:
        return len(self.methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self.methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self.methods[idx]

    def compute_mask(self, t: Array, default_mask: Array) -> Any:
        """Return the former mask with the last method's mask in place of what it leaves."""
        method = self.methods[-1]
        mask, scores = _numbers(default_mask).astype(_numbers(t).dtype), _numbers(t)
        if method.PRUNING_TYPE == "unstructured":
            chosen: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
                )
            dim = axis_of(scores, getattr(method, "dim"))  # noqa: B009  (only structured methods have it)
            others = tuple([d for d in range(scores.ndim) if d != dim])
            chosen = tuple([slice(None) if d != dim else mask.sum(axis=others) != 0 for d in range(scores.ndim)])
        elif method.PRUNING_TYPE == "global":
            chosen = ...
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        part = method.compute_mask(tensor(scores[chosen]), default_mask=tensor(mask[chosen]))
        made = mask.copy()
        made[chosen] = _numbers(part)
        return tensor(made)


def axis_of(t: Array, dim: int) -> int:
    """Return an axis counted from 0, or raise PyTorch's error."""
    ndim = len(t.shape)
    if not -ndim <= dim < ndim:
        raise IndexError(f"Invalid index {dim} for tensor of size torch.Size({list(t.shape)})")
    return dim % ndim


class Identity(BasePruningMethod):
    """Prune nothing, but register the mask."""

    def compute_mask(self, t: Array, default_mask: Array) -> Any:
        """Return the former mask."""
        del t
        return default_mask


class _Unstructured(BasePruningMethod):
    """Prune the elements with the lowest importance."""

    def __init__(self, amount: float) -> None:
        check_amount(amount)
        self.amount = amount

    def importance(self, t: np.ndarray) -> np.ndarray:
        """Return a number for each element."""
        raise NotImplementedError

    def compute_mask(self, t: Array, default_mask: Array) -> Any:
        """Return the former mask, with zeros for the elements of the lowest importance."""
        scores = _numbers(t)
        count = count_of(self.amount, scores.size)
        mask = _numbers(default_mask).copy()
        if count:
            order = np.argsort(self.importance(scores).reshape(-1), kind="stable")
            mask.reshape(-1)[order[:count]] = 0
        return tensor(mask)


class L1Unstructured(_Unstructured):
    """Prune the elements of the lowest absolute value."""

    def importance(self, t: np.ndarray) -> np.ndarray:
        """Return absolute values."""
        return np.abs(t)


class RandomUnstructured(_Unstructured):
    """Prune random elements."""

    def importance(self, t: np.ndarray) -> np.ndarray:
        """Return random numbers, of which PyTorch prunes the greatest."""
        return -default_generator.random(t.shape, t.dtype)


class _Structured(BasePruningMethod):
    """Prune whole slices along an axis."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        check_amount(amount)
        self.amount, self.dim = amount, dim

    def importance(self, t: np.ndarray, dim: int) -> np.ndarray:
        """Return a number for each slice."""
        raise NotImplementedError

    def compute_mask(self, t: Array, default_mask: Array) -> Any:
        """Return the former mask, with zeros for the slices of the lowest importance."""
        scores = _numbers(t)
        if scores.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"torch.Size({list(scores.shape)}) with {scores.ndim} dims"
            )
        dim = axis_of(scores, self.dim)
        count = count_of(self.amount, scores.shape[dim])
        mask = _numbers(default_mask).copy()
        if count:
            order = np.argsort(self.importance(scores, dim), kind="stable")
            np.moveaxis(mask, dim, 0)[order[:count]] = 0
        return tensor(mask)


class RandomStructured(_Structured):
    """Prune random slices."""

    def importance(self, t: np.ndarray, dim: int) -> np.ndarray:
        """Return random numbers."""
        return default_generator.random((t.shape[dim],), np.float32)


class LnStructured(_Structured):
    """Prune the slices of the lowest norm."""

    def __init__(self, amount: float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def importance(self, t: np.ndarray, dim: int) -> np.ndarray:
        """Return the norms of the slices as vectors."""
        rows = np.moveaxis(t, dim, 0).reshape(t.shape[dim], -1)
        # The Frobenius norm of a slice is the norm of order 2 of its elements.
        order: Any = {"fro": 2, "inf": np.inf, "-inf": -np.inf}.get(str(self.n), self.n)
        return np.linalg.norm(rows, order, axis=1)


class CustomFromMask(BasePruningMethod):
    """Prune by a mask of one's own."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Array) -> None:
        self.mask = mask

    def compute_mask(self, t: Array, default_mask: Array) -> Any:
        """Return the product of both masks."""
        del t
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

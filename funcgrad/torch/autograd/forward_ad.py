"""``torch.autograd.forward_ad``: dual numbers, tensors that carry a tangent, over the trace of ``fg.jvp``."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from funcgrad._core.bind import bind
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.forward import ForwardTrace, ForwardTracer
from funcgrad._core.trace.place import settled
from funcgrad._engines import engine_scope
from funcgrad._public import publish as _publish
from funcgrad._types import Array, Tensor
from funcgrad.autograd.extend import TRACE, TracedTrace, is_lifted, is_tensor, lower
from funcgrad.torch import _names

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _DualTensors(TracedTrace):
    """The trace of the tensors around dual values. Python reads the numbers of the primals, as in PyTorch."""

    def numbers(self, value: Array) -> Any:
        return _as_tensor(_parts(value)[0])

    def text_of(self, value: Array) -> str:
        primal, tangent = _parts(value)
        text = repr(_as_tensor(primal))
        return text if tangent is None else f"{text[:-1]}, tangent={_as_tensor(tangent)!r})"


class _DualTrace(ForwardTrace):
    """The trace of one level. After its end, its tensors are their primals, as in PyTorch."""

    transform = "forward_ad"
    keeps_backward = True

    def __enter__(self) -> Self:
        super().__enter__()
        self.tensors = _DualTensors()
        return self

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if self.alive:
            return super().apply(primitive, operands, params, hooked)
        return bind(primitive, tuple([x._value if _is_dual(x, self) else x for x in operands]), params)


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.autograd.forward_ad.unpack_dual(torch.ones(1))
        UnpackedDualTensor(primal=tensor([1.]), tangent=None)
    """

    primal: Any
    tangent: Any


# The level in use, at most one, as in PyTorch.
_levels: list[_DualTrace] = []


def _is_dual(x: Any, trace: ForwardTrace) -> bool:
    return type(x) is ForwardTracer and x._owner is trace


def _level(level: int | None) -> int:
    return len(_levels) - 1 if level is None else level


def enter_dual_level() -> int:
    """``torch.autograd.forward_ad.enter_dual_level``: begin a level, and return its number.

    Raises:
        RuntimeError: a level exists already.
    """
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append(_DualTrace(engine_scope).__enter__())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """``torch.autograd.forward_ad.exit_dual_level``: end the level; dual tensors lose their tangents.

    Raises:
        RuntimeError: no level exists, or it has another number.
    """
    if _level(level) < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if _level(level) != 0 or not _levels:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _levels.pop().__exit__(None, None, None)


class dual_level:  # noqa: N801  (PyTorch's name)
    """``torch.autograd.forward_ad.dual_level``: a context manager in which dual tensors exist.

    Example:
        >>> import funcgrad.torch as torch
        >>> import funcgrad.torch.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
        ...     fwAD.unpack_dual(x**2).tangent
        tensor([2., 0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Any:
    """``torch.autograd.forward_ad.make_dual``: return a tensor that carries a tangent.

    Operations on it compute the tangents of their results. Both parts may require gradients.

    Args:
        tensor: the primal, of a floating or complex dtype.
        tangent: of the same shape and dtype.
        level: the number of the level; the present one by default.

    Raises:
        RuntimeError: no level exists, or the tangent does not fit.
        ValueError: a dtype has no derivatives.
    """
    if _level(level) < 0 or not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if x.dtype.kind not in "fcV":
            raise ValueError(f"Expected {name} to be floating point or complex, but got: torch.{x.dtype}")
    if _parts(lower(tensor))[1] is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(
            "Expected tangent to be the same dtype as the primal, but got: primal with dtype "
            f"torch.{tensor.dtype} and tangent with dtype torch.{tangent.dtype}"
        )
    trace = _levels[-1]
    return trace.tensors.around(trace.input(lower(tensor), lower(tangent)))


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """``torch.autograd.forward_ad.unpack_dual``: return the primal and the tangent of a tensor.

    The tangent is ``None`` for a tensor that carries none, and after the level's end.
    """
    primal, tangent = _parts(lower(tensor))
    if tangent is None or _level(level) < 0:
        return UnpackedDualTensor(_as_tensor(primal) if is_lifted(tensor) else tensor, None)
    return UnpackedDualTensor(_as_tensor(primal), _as_tensor(tangent))


def _parts(value: Array) -> tuple[Any, Any]:
    """Return the primal and the tangent of a value; ``None`` if it carries no tangent, or the level has ended."""
    value = settled(value)
    if type(value) is not ForwardTracer or type(value._owner) is not _DualTrace:
        return value, None
    return value._value, value._tangent if value._owner.alive else None


def _as_tensor(x: Array) -> Any:
    return x if is_tensor(x) else TRACE.constant(x)


def __getattr__(name: str) -> Any:
    return _names.refuse("torch.autograd.forward_ad", name, globals())


__dir__ = _publish(__name__)

"""The seeds and inputs of a pass: tensors and cotangents, checked, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.fill import ones_like
from funcgrad._types import Array
from funcgrad.autograd._tape.base import TensorBase, is_tensor

Seed = tuple[Any, Any]


class GradientEdge(NamedTuple):
    """``torch.autograd.graph.GradientEdge``: an operation of the graph and the number of one of its results.

    Attributes:
        node: the operation, as ``grad_fn`` shows it.
        output_nr: the number of the result.
        ownership_token: the tensor. An edge keeps it in memory.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def sequence(tensors: Any, name: str) -> tuple[Any, ...]:
    """Return the given tensors as a tuple: one, several, or the values of a dict; for an edge, its tensor."""
    if is_tensor(tensors):
        return (tensors,)
    if isinstance(tensors, GradientEdge):
        return (tensors.ownership_token,)
    if type(tensors) is dict:
        tensors = tuple(tensors.values())
    if isinstance(tensors, Mapping):
        raise TypeError(
            f"`inputs` argument to `{name}()` must be a dict, not {type(tensors).__name__}. Other Mapping types "
            "are not supported."
        )
    if not isinstance(tensors, Iterable):
        raise TypeError(f"{name}: inputs is a {type(tensors).__name__}; needed a tensor, or several. Pass [w, b].")
    return tuple([x.ownership_token if isinstance(x, GradientEdge) else x for x in tensors])


def outputs_of(tensors: Any) -> tuple[Any, ...]:
    if not is_tensor(tensors) and not isinstance(tensors, Iterable):
        raise TypeError(f"backward: tensors is a {type(tensors).__name__}; needed a tensor, or several. Pass the loss.")
    outputs = sequence(tensors, "backward")
    for x in outputs:
        if not is_tensor(x):
            raise TypeError(
                f"backward: needed tensors; a {type(x).__name__} was given. Differentiate a result of tensors."
            )
    return outputs


def check_inputs(inputs: Iterable[Any], refusal: str) -> None:
    for x in inputs:
        if not is_tensor(x):
            raise RuntimeError(f"all inputs have to be Tensors, but got {type(x).__name__}")
        # A view may have another node by now.
        if x._owner.node_of(x) is None:
            raise RuntimeError(refusal)


def seeds_of(outputs: Sequence[Any], grads: Any) -> list[Seed]:
    """Return the nodes to start from, with their cotangents."""
    if grads is None:
        given: tuple[Any, ...] = (None,) * len(outputs)
    elif is_tensor(grads) or isinstance(grads, np.ndarray):
        given = (grads,)
    else:
        given = tuple(grads)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    return [
        implicit_seed(i, x) if bar is None else _seed(i, x, bar)
        for i, (x, bar) in enumerate(zip(outputs, given, strict=True))
    ]


def _seed(i: int, x: TensorBase, bar: Array) -> Seed:
    if not is_tensor(bar) and not hasattr(bar, "dtype"):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(bar).__name__}")
    if bar.shape != x.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {_size_text(bar.shape)} and output[{i}] has a "
            f"shape of {_size_text(x.shape)}."
        )
    if (bar.dtype.kind == "c") != (x.dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {bar.dtype} and output[{i}] has a dtype of {x.dtype}."
        )
    node = x._owner.node_of(x)
    if node is None:
        _refuse_constant(i)
    return node, conjugated(cast(bar, x.dtype))


def _refuse_constant(i: int) -> NoReturn:
    raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")


def conjugated(bar: Array) -> Any:
    """Convert a cotangent between JAX's convention, which the tape uses, and PyTorch's, the direction of ascent."""
    return fnp.conjugate(bar) if fnp.iscomplexobj(bar) else bar


def implicit_seed(i: int, x: TensorBase) -> Seed:
    """Return the node of a scalar, with the cotangent 1."""
    node = x._owner.node_of(x)
    if node is None:
        _refuse_constant(i)
    if x.shape and any(n != 1 for n in x.shape):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if x.dtype.kind == "c":
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {x.dtype}")
    value = x._value
    if not issubclass(type(value), np.ndarray | np.generic):
        return node, ones_like(value)
    return node, np.ones(x.shape, x.dtype) if x.shape else x.dtype.type(1)


def _size_text(shape: tuple[int, ...]) -> str:
    return f"torch.Size({list(shape)})"

"""Methods of tensors for difficult inputs: no axes, no elements, one element, strided memory, no numbers.

Each runs alike on PyTorch's tensors and on ours. What is compared: shape and dtype, whose memory it is and whether it
is the tensor itself, whether it requires a gradient, and the numbers, with those of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

INPUTS: dict[str, np.ndarray] = {
    "no axes": np.array(2.5),
    "one element": np.array([1.5]),
    "a vector": np.array([0.5, -2.0, 1.0]),
    "a matrix": np.arange(6.0).reshape(2, 3) - 2.3,
    "a transposed matrix": (np.arange(6.0).reshape(3, 2) - 2.3).T,
    "no elements": np.zeros(0),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
    "three axes": np.arange(8.0).reshape(2, 2, 2) - 3.5,
    "zeros": np.zeros(2),
    "integers": np.array([3, -1, 0]),
    "an integer": np.array(3),
    "bytes": np.array([[200, 3]], np.uint8),
    "truths": np.array([True, False, True]),
    "a truth": np.array(True),
    "complex": np.array([1 + 2j, -0.5j]),
    "a complex number": np.array(1 + 2j),
    "half": np.array([0.5, 300.0], np.float16),
}


class Row(NamedTuple):
    """A method, the kinds of dtype for which it is tried, and inputs that are left out for a reason."""

    call: Callable[[Any], Any]
    kinds: str = "fciub"
    without: tuple[str, ...] = ()


_NO_MATRICES = tuple([given for given, x in INPUTS.items() if x.ndim != 2])
# Results computed from integers have NumPy's dtypes, so these are not compared.
_REAL = "f"
METHODS: dict[str, Row] = {
    "reshape(-1)": Row(lambda t: t.reshape(-1)),
    "reshape of the same shape": Row(lambda t: t.reshape(tuple(t.shape))),
    "view(-1)": Row(lambda t: t.view(-1)),
    "view of the same shape": Row(lambda t: t.view(tuple(t.shape))),
    "view_as": Row(lambda t: t.view_as(t)),
    "t": Row(lambda t: t.t()),
    "T": Row(lambda t: t.T, without=_NO_MATRICES),  # PyTorch warns.
    "ravel": Row(lambda t: t.ravel()),
    "flatten": Row(lambda t: t.flatten()),
    "flatten(1)": Row(lambda t: t.flatten(1)),
    "expand": Row(lambda t: t.expand(3, *t.shape)),
    "expand(-1)": Row(lambda t: t.expand(-1)),
    "permute": Row(lambda t: t.permute(tuple(range(t.ndim)))),
    "transpose(0, 0)": Row(lambda t: t.transpose(0, 0)),
    "transpose(0, -1)": Row(lambda t: t.transpose(0, -1)),
    "swapaxes": Row(lambda t: t.swapaxes(0, 0)),
    "squeeze": Row(lambda t: t.squeeze()),
    "squeeze(0)": Row(lambda t: t.squeeze(0)),
    "unsqueeze": Row(lambda t: t.unsqueeze(0)),
    "diagonal": Row(lambda t: t.diagonal()),
    "[0]": Row(lambda t: t[0]),
    "[...]": Row(lambda t: t[...]),
    "[()]": Row(lambda t: t[()]),
    "[:]": Row(lambda t: t[:]),
    "[None]": Row(lambda t: t[None]),
    "[0, 0]": Row(lambda t: t[0, 0]),
    "[[0]]": Row(lambda t: t[[0]]),
    "iteration": Row(lambda t: next(iter(t), t)),
    "clone": Row(lambda t: t.clone()),
    "contiguous": Row(lambda t: t.contiguous()),
    "detach": Row(lambda t: t.detach()),
    "data": Row(lambda t: t.data),
    "to('cpu')": Row(lambda t: t.to("cpu")),
    "double": Row(lambda t: t.double(), "fiub"),
    "float": Row(lambda t: t.float(), "fiub"),
    "type_as": Row(lambda t: t.type_as(t)),
    "plus": Row(lambda t: +t, "fciu"),
    "absolute": Row(lambda t: abs(t), "fciu"),
    "real": Row(lambda t: t.real),
    "sum": Row(lambda t: t.sum(), "fcib"),
    "sum(0)": Row(lambda t: t.sum(0), "fcib"),
    "sum(dim=())": Row(lambda t: t.sum(dim=()), "fcib"),
    "sum(-1, keepdim=True)": Row(lambda t: t.sum(-1, keepdim=True), "fcib"),
    "mean": Row(lambda t: t.mean(), "fc", ("no elements", "no rows", "no columns")),  # NumPy warns.
    "prod": Row(lambda t: t.prod(), "fcib"),
    "all": Row(lambda t: t.all(), "fcib"),
    "any(0)": Row(lambda t: t.any(0), "fcib"),
    "cumsum(0)": Row(lambda t: t.cumsum(0), "fcib"),
    "cumprod(-1)": Row(lambda t: t.cumprod(-1), "fcib"),
    "argmax": Row(lambda t: t.argmax(), "fiu"),
    "argmax(dim=0)": Row(lambda t: t.argmax(dim=0), "fiu"),
    "argmin(-1, keepdim=True)": Row(lambda t: t.argmin(-1, keepdim=True), "fiu"),
    "argsort": Row(lambda t: t.argsort(0), "fiu"),
    "softmax": Row(lambda t: t.softmax(0), "fiub"),
    "log_softmax": Row(lambda t: t.log_softmax(-1), "fiub"),
    "norm": Row(lambda t: t.norm()),
    "norm(1)": Row(lambda t: t.norm(1)),
    "norm(inf)": Row(lambda t: t.norm(float("inf"))),
    "norm along an axis": Row(lambda t: t.norm(2, 0)),
    "max": Row(lambda t: t.max(), "fiub"),
    "correction": Row(lambda t: t.var(correction=0), _REAL, ("no elements", "no rows", "no columns")),  # NumPy warns.
    "masked_fill": Row(lambda t: t.masked_fill(t == 0, 1)),
    "clamp": Row(lambda t: t.clamp(-1, 2), "fi"),
    "clamp without bounds": Row(lambda t: t.clamp()),
    "mm": Row(lambda t: t.mm(t.t())),
    "mv": Row(lambda t: t.mv(t)),
    "sigmoid": Row(lambda t: t.sigmoid(), _REAL),
    "add": Row(lambda t: t.add(0), "fciu"),
    "zero_": Row(lambda t: t.detach().zero_()),
    "fill_": Row(lambda t: t.detach().fill_(1)),
    "add_": Row(lambda t: t.detach().add_(t.detach()), "fciu"),
    "written through a view": Row(lambda t: [t.detach().reshape(-1).add_(1), t][1], "fciu"),
    "written through an element": Row(lambda t: [t.detach()[0].zero_(), t][1]),
    "written through a sum": Row(lambda t: [(s := t.sum()).detach().add_(1), s][1], "fc", ("no axes",)),
    "data replaced": Row(lambda t: [setattr(t.reshape(-1), "data", t.detach().reshape(-1) * 2), t][1]),
}
PAIRS = [
    (name, given)
    for name, row in METHODS.items()
    for given, x in INPUTS.items()
    if x.dtype.kind in row.kinds and given not in row.without
]


class Observed(NamedTuple):
    """The text and the numbers that a result shows."""

    text: str
    numbers: list[np.ndarray]


def observed(name: str, given: str, make: Callable[..., Any], array_of: Callable[[Any], np.ndarray]) -> Observed:
    """Run a method on a leaf; ``array_of`` returns the array of a result."""
    value = INPUTS[given]
    # An array that is not contiguous is made by transposing a contiguous one.
    leaf = make(np.ascontiguousarray(value.T) if value.ndim == 2 and not value.flags.c_contiguous else value.copy())
    x = leaf if leaf.shape == value.shape else leaf.t()
    if value.dtype.kind in "fc":
        x.requires_grad_()
    try:
        y = METHODS[name].call(x)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return Observed("refused", [])
    array = array_of(y)
    shares = bool(array.size) and bool(np.shares_memory(array, array_of(x)))
    text = f"{array.dtype}{list(array.shape)} {shares=} same={y is x} {y.requires_grad=} {y.is_leaf=}"
    numbers = [array]
    if y.requires_grad and not y.is_leaf:
        weights = np.cos(np.arange(array.size)).reshape(array.shape).astype(array.dtype)
        total = (y * make(np.array(weights))).sum()
        total.real.backward() if array.dtype.kind == "c" else total.backward()
        numbers.append(array_of(x.grad))
    return Observed(text, numbers)


def flat(numbers: list[np.ndarray]) -> np.ndarray:
    """Return numbers of any kind as one row of float64."""
    wide = [np.asarray(x).astype(np.complex128).ravel() for x in numbers]
    return np.concatenate(wide).view(np.float64) if wide else np.zeros(0)

"""Functions of elements with PyTorch's names: values and gradients are PyTorch's."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad.autograd import grad, tensor
from funcgrad.autograd._methods.elements import FUNCTIONS, METHODS
from funcgrad.autograd._methods.elements import IN_PLACE as ELEMENTS_IN_PLACE
from tests._recorded import PyTorch
from tests.laws.fuzz.table import words

Call = Callable[[Any, str, Any, Any], Any]
# Points between the bounds of all functions that have bounds, except those of `_BEYOND`.
X = np.array([[0.3, 0.7, 0.2], [0.9, 0.4, 0.1], [0.25, 0.55, 0.6]])
Y = np.array([[0.5, 1.5, 0.25], [0.8, 0.6, 2.0], [0.1, 0.3, 0.35]])
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5, -1.5, np.inf, -np.inf, np.nan])

_BINARY = words(
    """
    eq ne lt le gt ge maximum minimum fmax fmin logaddexp logaddexp2 copysign hypot fmod xlogy atan2 arctan2 clamp
    clamp_min clamp_max greater greater_equal less less_equal not_equal float_power
    """
)
_ARGUMENTS: dict[str, Call] = {
    **dict.fromkeys(_BINARY, lambda x, name, y, t: getattr(x, name)(y)),
    **dict.fromkeys(words("addcmul addcdiv"), lambda x, name, y, t: getattr(x, name)(y, y + 1, value=0.5)),
    **dict.fromkeys(words("addmm addr addmv"), lambda x, name, y, t: _product(x, name, y, t)),
    **dict.fromkeys(words("baddbmm addbmm"), lambda x, name, y, t: _products(x, name, y, t)),
    **dict.fromkeys(words("cumsum cumprod"), lambda x, name, y, t: getattr(x, name)(1)),
    **dict.fromkeys(words("tril triu"), lambda x, name, y, t: getattr(x, name)(1)),
    "lerp": lambda x, name, y, t: getattr(x, name)(y, 0.25),
    "logit": lambda x, name, y, t: getattr(x, name)(0.25),
}
# Functions of bools and integers, and functions without a derivative in PyTorch.
_PLAIN = words(
    """
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not heaviside nextafter
    """
)
_BEYOND = words("acosh arccosh")


def _product(x: Any, name: str, y: Any, t: Any) -> Any:
    first, second = {"addr": (y[0], y[1]), "addmv": (y, y[0]), "addmm": (y, y)}[name.rstrip("_")]
    return getattr(x[0] if "addmv" in name else x, name)(first, second, beta=0.5, alpha=2)


def _products(x: Any, name: str, y: Any, t: Any) -> Any:
    batch = t(np.stack([Y, X]))
    x = x.reshape(1, 3, 3).clone() if "baddbmm" in name else x
    return getattr(x, name)(batch[:1] * y, batch[1:] * y, alpha=0.5)


def _done(make: Any, gradient: Any, name: str) -> list[Any]:
    """Return the value, the gradients, and the name of the operation."""
    x = make(X + 1.0 if name.rstrip("_") in _BEYOND else X, requires_grad=True)
    y = make(Y, requires_grad=True)
    call = _ARGUMENTS.get(name.rstrip("_"), lambda x, name, y, t: getattr(x, name)())
    z = call(x * 1.0, name, y * 1.0, make)
    title = getattr(z.grad_fn, "name", str)() if name.endswith("_") else ""
    if not z.requires_grad:
        return [z.numpy(), title, np.zeros((3, 3)), np.zeros((3, 3))]
    bars = gradient((z * make(np.cos(np.arange(9.0)).reshape(3, 3))).sum(), (x, y), materialize_grads=True)
    return [z.detach().numpy(), title, *[np.asarray((bar + 0).detach()) for bar in bars]]


def _same(ours: list[Any], theirs: list[Any]) -> None:
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        if isinstance(mine, np.ndarray):
            assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-12)
        else:
            assert mine == other


_NAMED = [name for name in FUNCTIONS if name not in _PLAIN]


@pytest.mark.parametrize("name", [*_NAMED, *[f"{name}_" for name in _NAMED if f"{name}_" in ELEMENTS_IN_PLACE]])
def test_values_and_gradients(name: str, pytorch: PyTorch) -> None:
    # PyTorch has no derivative of these three in place.
    lacking = name in {"asinh_", "acosh_", "atanh_"}
    theirs = pytorch(lambda torch: _done(torch.tensor, torch.autograd.grad, name[:-1] if lacking else name))
    first = 2 if lacking else 0
    _same(_done(tensor, grad, name)[first:], theirs[first:])


_ONE = [name for name in METHODS if name not in _ARGUMENTS and name not in _PLAIN]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", _ONE)
def test_special_values(name: str, dtype: str, pytorch: PyTorch) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = getattr(tensor(SPECIAL.astype(dtype)), name)().numpy()
    theirs = pytorch(lambda torch: getattr(torch.tensor(SPECIAL.astype(dtype)), name)().numpy())
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-30)


@pytest.mark.parametrize("name", _PLAIN)
def test_values_of_bools_and_integers(name: str, pytorch: PyTorch) -> None:
    for a, b in (([True, False, True, False], [True, True, False, False]), ([5, -3, 0, 7], [2, 4, 0, -1])):
        dtype = float if name in {"heaviside", "nextafter"} else None

        def found(make: Any, operands: tuple[np.ndarray, ...] = (np.array(a, dtype), np.array(b, dtype))) -> list[Any]:
            x, y = map(make, operands)
            others = () if name.endswith("_not") else (y,)
            return [getattr(x, name)(*others).numpy().copy(), getattr(x, f"{name}_")(*others).numpy()]

        _same(found(tensor), pytorch(lambda torch, found=found: found(torch.tensor)))


INDEX = np.array([[0, 2, 1], [1, 1, 0]])
# Functions of whole tensors, and functions that take indices.
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "amax": lambda x, y, t: x.amax(),
    "amax of an axis": lambda x, y, t: x.amax(1, keepdim=True),
    "amin of axes": lambda x, y, t: x.amin((0, 1)),
    "logsumexp": lambda x, y, t: x.logsumexp(1),
    "nansum": lambda x, y, t: x.nansum(0),
    "outer": lambda x, y, t: x[0].outer(y[1]),
    "inner": lambda x, y, t: x.inner(y),
    "vdot": lambda x, y, t: x[0].vdot(y[0]),
    "kron": lambda x, y, t: x.kron(y),
    "cross": lambda x, y, t: x.cross(y, dim=0),
    "subtract": lambda x, y, t: x.subtract(y, alpha=2),
    "multiply": lambda x, y, t: x.multiply(y),
    "divide": lambda x, y, t: x.divide(y),
    "div rounded": lambda x, y, t: x.div(y, rounding_mode="floor") * y,
    "remainder": lambda x, y, t: x.remainder(y),
    "det": lambda x, y, t: x.det(),
    "logdet": lambda x, y, t: (x @ x.t()).logdet(),
    "slogdet": lambda x, y, t: x.slogdet()[1],
    "inverse": lambda x, y, t: x.inverse(),
    "matrix_power": lambda x, y, t: x.matrix_power(3),
    "flip": lambda x, y, t: x.flip(0),
    "flip of two axes": lambda x, y, t: x.flip(0, 1),
    "fliplr": lambda x, y, t: x.fliplr(),
    "rot90": lambda x, y, t: x.rot90(1, [0, 1]),
    "roll": lambda x, y, t: x.roll(1, 0),
    "roll of all": lambda x, y, t: x.roll(2),
    "tile": lambda x, y, t: x.tile(2, 1),
    "diag": lambda x, y, t: x.diag(1),
    "diag of a line": lambda x, y, t: x[0].diag(),
    "diff": lambda x, y, t: x.diff(dim=0),
    "where": lambda x, y, t: x.where(x > 0.5, y),
    "movedim": lambda x, y, t: x.movedim(0, 1),
    "swapdims": lambda x, y, t: x.swapdims(0, 1),
    "broadcast_to": lambda x, y, t: x[:, :1].broadcast_to((3, 3)),
    "expand_as": lambda x, y, t: x[0].expand_as(y),
    "reshape_as": lambda x, y, t: x.reshape_as(y.reshape(9)),
    "unflatten": lambda x, y, t: x.unflatten(1, (-1, 3)),
    "narrow": lambda x, y, t: x.narrow(1, -2, 2),
    "select": lambda x, y, t: x.select(1, -1),
    "gather": lambda x, y, t: x.gather(1, t(INDEX)),
    "index_select": lambda x, y, t: x.index_select(1, t(INDEX[0])),
    "masked_select": lambda x, y, t: x.masked_select(y > 0.5),
    "take_along_dim": lambda x, y, t: x.take_along_dim(t(INDEX), 0),
    "index_add": lambda x, y, t: x.index_add(0, t(INDEX[1]), y, alpha=3),
    "index_copy": lambda x, y, t: x.index_copy(1, t(INDEX[0]), y),
    "index_fill": lambda x, y, t: x.index_fill(1, t(INDEX[1]), 2.0),
    "index_put": lambda x, y, t: x.index_put((t(INDEX[0]),), y),
    "index_put adds": lambda x, y, t: x.index_put((t(INDEX[1]), t(INDEX[0])), y[0], accumulate=True),
    "scatter": lambda x, y, t: x.scatter(1, t(INDEX[:1]), y[:1]),
    "scatter a number": lambda x, y, t: x.scatter(0, t(INDEX), 2.0),
    "scatter_add": lambda x, y, t: x.scatter_add(0, t(INDEX), y[:2]),
    "masked_scatter": lambda x, y, t: x.masked_scatter(y > 0.4, y),
    "masked_scatter_": lambda x, y, t: (x * 1.0).masked_scatter_(y > 0.4, y),
    "put_": lambda x, y, t: (x * 1.0).put_(t(np.array([[0, -2, 4], [1, 3, 8]])), y[:2]),
    "put_ adds": lambda x, y, t: (x * 1.0).put_(t(INDEX * -2 - 1), y[:2], accumulate=True),
    "fill_diagonal_": lambda x, y, t: (x * 1.0).fill_diagonal_(2.0),
    "fill_diagonal_ of a tall matrix": lambda x, y, t: (x.reshape(9, 1) * y[0, :2]).fill_diagonal_(2.0, wrap=True),
    "new_full": lambda x, y, t: x * x.new_full((3, 3), 2.0) + x.new_zeros(3) + x.new_ones((3, 1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_whole_tensors(name: str, pytorch: PyTorch) -> None:
    def found(make: Any, gradient: Any) -> list[Any]:
        x, y = make(X, requires_grad=True), make(Y, requires_grad=True)
        z = CALLS[name](x, y, make)
        shares = np.shares_memory(z.detach().numpy(), x.detach().numpy())
        bars = gradient((z * z.detach().cos()).sum(), (x, y), materialize_grads=True)
        return [z.detach().numpy(), str(shares), *[np.asarray((bar + 0).detach()) for bar in bars]]

    _same(found(tensor, grad), pytorch(lambda torch: found(torch.tensor, torch.autograd.grad)))


def test_questions(pytorch: PyTorch) -> None:
    def said(make: Any) -> list[Any]:
        x, y = make(X), make(Y)
        return [
            x.equal(y),
            x.equal(make(X)),
            x.allclose(x + 1e-9),
            x.isclose(y).tolist(),
            x.count_nonzero().item(),
            x.is_contiguous(),
            x.t().is_contiguous(),
            x.ndimension(),
            x.element_size(),
            x.float().element_size(),
        ]

    assert said(tensor) == pytorch(lambda torch: said(torch.tensor))


def test_numbers_that_are_drawn_lie_where_they_should() -> None:
    source = np.random.default_rng(0)
    x: Any = tensor(np.zeros(1000))
    assert set(x.random_(2, 5, generator=source).tolist()) == {2, 3, 4}
    assert set(x.geometric_(0.9, generator=source).tolist()) >= {1, 2}
    assert x.log_normal_(0, 1, generator=source).min() > 0
    assert abs(np.median(x.cauchy_(3.0, 0.1, generator=source)) - 3) < 0.1
    wrong = {"geometric_": (2.0,), "cauchy_": (0, -1), "log_normal_": (0, 0), "random_": (3, 3)}
    for name, arguments in wrong.items():
        with pytest.raises(RuntimeError, match="expects"):
            getattr(x, name)(*arguments)


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "slices that do not fit": lambda x, t: x.index_add_(0, t(INDEX[0, :2]), x[:2, :2].clone()),
    "too few slices": lambda x, t: x.index_copy(0, t(INDEX[0, :2]), x[:1].clone()),
    "an index of other axes": lambda x, t: x.gather(0, t(INDEX[0])),
    "a source of other axes": lambda x, t: x.scatter(0, t(INDEX), x[0]),
    "a source that is too small": lambda x, t: x.scatter_add_(0, t(INDEX), x[:1].clone()),
    "a place that there is not": lambda x, t: x.scatter_(0, t(INDEX + 2), 1.0),
    "elements that there are not": lambda x, t: x.narrow(0, 2, 2),
    "a part of no length": lambda x, t: x.narrow(0, 2, -2),
    "sizes that do not multiply up": lambda x, t: x.unflatten(0, (2, 2)),
    "a source of another dtype": lambda x, t: x.masked_scatter_(x > 0, x.float()),
    "a source that is too short": lambda x, t: x.masked_scatter_(x > 0, x[0].clone()),
    "integers": lambda x, t: t(INDEX).uniform_(),
    "in the same memory": lambda x, t: x.index_copy_(0, t(INDEX[0]), x),
    "a vector's diagonal": lambda x, t: x[0].clone().fill_diagonal_(1.0),
    "a rounding that there is not": lambda x, t: x.div(x, rounding_mode="up"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str, pytorch: PyTorch) -> None:
    def is_refused(make: Any, x: Any) -> bool:
        with pytest.raises((RuntimeError, IndexError, ValueError)):
            REFUSED[name](x, make)
        return True

    x = tensor(X)
    assert is_refused(tensor, x) == pytorch(lambda torch: is_refused(torch.tensor, torch.tensor(X)))
    np.testing.assert_array_equal(x, X)


def test_scatter_reduce_of_ties_integers_and_infinities(pytorch: PyTorch) -> None:
    index, source = np.array([[0, 1, 0], [1, 1, 0]]), np.array([[2.0, -2.0, 3.0], [0.5, 0.0, 3.0]])
    for values in ([[2.0, -2.0, 3.0], [0.5, 2.0, -1.0]], [[1.0, 0.0, 0.0], [0.5, 2.0, np.inf]]):
        for reduce in ("sum", "mean", "amax", "amin"):

            def found(make: Any, by: Any, values: Any = values, reduce: str = reduce) -> list[Any]:
                x, y = make(np.array(values), requires_grad=True), make(source, requires_grad=True)
                z = x.scatter_reduce(0, make(index), y, reduce)
                return [np.asarray(one) for one in (z.detach(), *by((z * make(source)).sum(), (x, y)))]

            theirs = pytorch(lambda torch, found=found: found(torch.tensor, torch.autograd.grad))
            for mine, other in zip(found(tensor, grad), theirs, strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-13)
    unknown = np.array([[np.nan, 1.0, 2.0]])
    maximum = tensor(unknown).scatter_reduce(0, tensor(index[:1] * 0), tensor(source[:1]), "amax")
    np.testing.assert_array_equal(np.asarray(maximum), [[np.nan, 1, 3]])
    for reduce in ("sum", "prod", "mean", "amax", "amin"):

        def whole(make: Any, reduce: str = reduce) -> np.ndarray:
            x = make(np.arange(6).reshape(2, 3))
            return np.asarray(x.scatter_reduce(0, x * 0, x - 2, reduce, include_self=False))

        np.testing.assert_array_equal(whole(tensor), pytorch(lambda torch, whole=whole: whole(torch.tensor)))

"""Writes into tensors with a history: values, gradients, ``grad_fn``, versions and refusals are PyTorch's."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import autograd
from funcgrad.autograd import grad, no_grad, tensor
from funcgrad.errors import TracerAssignmentError
from tests._recorded import PyTorch
from tests.laws.fuzz.table import words

Program = Callable[[Any], Any]
X = np.array([[0.3, -0.7, 1.2], [0.9, 0.4, -1.1]])
Y = np.array([[0.5, 1.5, -0.2], [0.8, -0.6, 2.0]])


class Ours:
    tensor = staticmethod(tensor)
    no_grad = no_grad
    grad = staticmethod(grad)


class Theirs:
    def __init__(self, torch: Any) -> None:
        self.tensor, self.no_grad, self.grad = torch.tensor, torch.no_grad, torch.autograd.grad


@pytest.fixture
def theirs(pytorch: PyTorch) -> Program:
    """Run a program on PyTorch's tensors."""
    return lambda program: pytorch(lambda torch: program(Theirs(torch)))


UNARY = words(
    """
    abs_ neg_ exp_ expm1_ sin_ cos_ tan_ atan_ sinh_ cosh_ tanh_ sigmoid_ relu_ square_
    reciprocal_ sign_ floor_ ceil_ round_ trunc_ frac_ exp2_ zero_
    """
)
BINARY = words("add_ sub_ mul_ div_ copy_ remainder_ subtract_ multiply_ divide_ true_divide_")
INDEX = np.array([1, 0, 1])
# Writes to a tensor, given another tensor of the same shape and a function that makes tensors from arrays.
METHODS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{name: lambda x, _y, _t, name=name: getattr(x, name)() for name in UNARY},
    **{
        name: lambda x, _y, _t, name=name: getattr(x.abs_().add_(1.5), name)()
        for name in ["sqrt_", "rsqrt_", "log_", "log1p_", "log2_", "log10_"]
    },
    **{name: lambda x, _y, _t, name=name: getattr(x.mul_(0.5), name)() for name in ["asin_", "acos_"]},
    **{name: lambda x, y, _t, name=name: getattr(x, name)(y) for name in BINARY},
    **{
        f"{name} of a number": lambda x, _y, _t, name=name: getattr(x, name)(1.5)
        for name in ["add_", "sub_", "mul_", "div_", "fill_", "remainder_", "clamp_min_", "clamp_max_"]
    },
    "pow_": lambda x, y, t: x.abs_().pow_(y),
    "pow_ of a number": lambda x, y, t: x.pow_(3),
    "div_ rounded": lambda x, y, t: x.div_(y, rounding_mode="floor"),
    "add_ alpha": lambda x, y, t: x.add_(y, alpha=0.5),
    "sub_ alpha": lambda x, y, t: x.sub_(y, alpha=2),
    "clamp_": lambda x, y, t: x.clamp_(-0.5, 0.5),
    "clamp_ to tensors": lambda x, y, t: x.clamp_(min=y),
    "masked_fill_": lambda x, y, t: x.masked_fill_(y > 0.6, 2.5),
    "index_put_": lambda x, y, t: x.index_put_((t(INDEX[:2]), t(np.array([0, 2]))), y[0, :2]),
    "index_put_ adds": lambda x, y, t: x.index_put_((t(INDEX), t(INDEX)), y[0], accumulate=True),
    "index_add_": lambda x, y, t: x.index_add_(1, t(INDEX), y, alpha=3),
    "index_copy_": lambda x, y, t: x.index_copy_(1, t(np.array([2, 0])), y[:, :2]),
    "index_fill_": lambda x, y, t: x.index_fill_(1, t(np.array([2, 0])), 4.0),
    "scatter_": lambda x, y, t: x.scatter_(1, t(np.array([[0, 2], [2, 1]])), y[:, :2]),
    "scatter_ a number": lambda x, y, t: x.scatter_(0, t(np.array([[1, 0]])), 3.0),
    "scatter_add_": lambda x, y, t: x.scatter_add_(1, t(np.array([[0, 0], [2, 1]])), y[:, :2]),
    **{
        f"scatter_reduce_ {reduce}{'' if itself else ' alone'}": lambda x, y, t, reduce=reduce, itself=itself: (
            x.scatter_reduce_(1, t(np.array([[0, 2, 0], [2, 1, 1]])), y, reduce, include_self=itself)
        )
        for reduce in ["sum", "prod", "mean", "amax", "amin"]
        for itself in [True, False]
    },
    "addcmul_": lambda x, y, t: x.addcmul_(y, y, value=0.5),
    "addcdiv_": lambda x, y, t: x.addcdiv_(y, y + 9, value=0.5),
    "lerp_": lambda x, y, t: x.lerp_(y, 0.25),
    "cumsum_": lambda x, y, t: x.cumsum_(1),
    "cumprod_": lambda x, y, t: x.cumprod_(0),
    "an element": lambda x, y, t: _set(x, (0, 1), y[0, 0]),
    "a row": lambda x, y, t: _set(x, 0, y[1] * 2),
    "a number in a row": lambda x, y, t: _set(x, 1, 2.0),
    "a slice": lambda x, y, t: _set(x, (slice(None), slice(1, None)), y[:, :1]),
    "everything": lambda x, y, t: _set(x, ..., y),
    "a mask": lambda x, y, t: _set(x, y > 0.6, 3.0),
    "selected": lambda x, y, t: _set(x, (slice(None), t(INDEX[:2])), y[:, 1:]),
    "an operator": lambda x, y, t: _iadd(x, y),
    "a diagonal": lambda x, y, t: (x.diagonal(1).mul_(y[0, :2]), x)[1],
    "a diagonal of reversed axes": lambda x, y, t: (x.diagonal(-1, 1, 0).add_(y[1, :1]), x)[1],
    "addr_": lambda x, y, t: x.addr_(y[:, 0], y[0], alpha=0.5),
}


def _set(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


def _iadd(x: Any, y: Any) -> Any:
    before = x
    x += y
    x *= 2
    assert x is before
    return x


def _told(x: Any, gradients: Any) -> list[Any]:
    return [
        x.detach().numpy(),
        x.grad_fn.name(),
        x._version,
        *[np.asarray(g.detach()) for g in gradients if g is not None],
    ]


def _same(ours: list[Any], theirs: list[Any]) -> None:
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-13)
        else:
            assert mine == other


def _of_a_result(m: Any, method: Any) -> list[Any]:
    x, y = m.tensor(X, requires_grad=True), m.tensor(Y, requires_grad=True)
    z = x * 1.0
    assert method(z, y * 1.0, m.tensor) is z
    return _told(z, m.grad((z**2 * m.tensor(Y)).sum(), (x, y), materialize_grads=True))


def _of_a_part(m: Any, method: Any) -> list[Any]:
    """Write through a view of a view and read through another view; also for the second derivative."""
    x, y = m.tensor(np.stack([X, Y, X]), requires_grad=True), m.tensor(Y, requires_grad=True)
    z = x.sin()
    rows, other = z[1:], z.reshape(-1)
    method(rows[0], y * 1.0, m.tensor)
    loss = (other**2 * other.cos()).sum() + rows.exp().sum()
    first = m.grad(loss, (x, y), create_graph=True, materialize_grads=True)
    second = m.grad(first[0].cos().sum(), (x, y), materialize_grads=True)
    return [*_told(z, [*first, *second]), other.grad_fn.name()]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("program", [_of_a_result, _of_a_part])
def test_methods(theirs: Program, program: Any, name: str) -> None:
    _same(program(Ours, METHODS[name]), theirs(lambda m: program(m, METHODS[name])))


def _leaf(m: Any) -> Any:
    return m.tensor(X, requires_grad=True)


def _result(m: Any) -> Any:
    return _leaf(m) * 1.0


def _in_no_grad(m: Any, make: Program) -> Any:
    with m.no_grad():
        return make(m)


def _first(parts: Any) -> Any:
    return parts[0]


def _shifted(x: Any) -> Any:
    return x[1:].mul_(x[:-1])


def _scatter_add(m: Any, x: Any, index: list[list[int]], source: Any) -> Any:
    return x.scatter_add_(-1, m.tensor(index), m.tensor(np.asarray(source)))


REFUSED: dict[str, Program] = {
    "a leaf": lambda m: _leaf(m).mul_(2),
    "an element of a leaf": lambda m: _set(_leaf(m), 0, 1.0),
    "a view of a leaf": lambda m: _leaf(m)[0].zero_(),
    "one of several views": lambda m: list(_result(m).unbind())[1].add_(1),
    "a view of one of several": lambda m: _first(_result(m).split(1))[0].add_(1),
    "a view from no_grad": lambda m: _in_no_grad(m, lambda m: _result(m)[0]).mul_(_leaf(m)[0]),
    "what repeats": lambda m: _result(m)[:, :1].expand(2, 3).add_(1.0),
    "a part of itself": lambda m: _shifted(m.tensor(X[0])),
    "a greater shape": lambda m: _result(m)[0].add_(m.tensor(X)),
    "a greater kind": lambda m: m.tensor(np.array([1, 2])).mul_(m.tensor(Y[0, :2])),
    "a copy that does not fit": lambda m: _result(m).copy_(m.tensor(X[:, :2])),
    "detached in place": lambda m: _result(m)[0].detach_(),
    "a row copied from a matrix": lambda m: _result(m)[0].copy_(m.tensor(X[:1])),
    "slices that are too few": lambda m: _result(m).index_add_(0, m.tensor([0, 1]), m.tensor(X[:1])),
    "slices of another length": lambda m: _result(m).index_add_(1, m.tensor([0, 1]), m.tensor(X[:1, :2])),
    "doubles by index into bools": lambda m: (m.tensor(X) > 0).index_put_((m.tensor([1, 0]),), m.tensor(Y)),
    "halves the width by slices": lambda m: m.tensor(X).index_copy_(
        0, m.tensor([1, 0]), m.tensor(Y.astype(np.float32))
    ),
    "another width added to slices": lambda m: m.tensor(X).index_add_(0, m.tensor([1]), m.tensor(Y[:1].astype(int))),
    "another width scattered": lambda m: _scatter_add(m, m.tensor(X.astype(np.float32)), [[0], [0]], X),
    "another width by number": lambda m: m.tensor(X).put_(m.tensor([1, 0]), m.tensor(Y[0, :2].astype(np.float32))),
    "a vector that is none": lambda m: m.tensor(X).addr_(m.tensor(Y[:, :1]), m.tensor(Y[0])),
    "an outer product that is too small": lambda m: m.tensor(X).addr_(m.tensor(Y[0, :1]), m.tensor(Y[0, :1])),
    "an unknown reduction": lambda m: m.tensor(X).scatter_reduce_(0, m.tensor([[1]]), m.tensor(Y), "median"),
    "a mask that is too large": lambda m: (m.tensor(X)[0] > 0).masked_fill_(m.tensor(X) > 0, 0.25),
    "scattered, a leaf": lambda m: _scatter_add(m, _leaf(m), [[0], [0]], X),
    "scattered from a number": lambda m: _scatter_add(m, _result(m), [[0], [0]], X[0, 0]),
    "scattered to a row": lambda m: _scatter_add(m, _result(m)[0], [[0], [0]], X),
    "scattered from too little": lambda m: _scatter_add(m, _result(m), [[0], [0]], X[:1]),
    "scattered to too little": lambda m: _scatter_add(m, _result(m)[:1], [[0], [0]], X),
}


def _words(error: Exception) -> str:
    """Return a message without the library's own advice, and with one name for views."""
    text = re.sub(r"(?<=utput )(\d) of (Index|Select|AsStrided)\b", r"\1 of a view", str(error))
    return re.split(" Hint: | If you are using", text.replace("torch.", ""))[0].rstrip(".")


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(theirs: Program, name: str) -> None:
    def said(m: Any) -> str:
        with pytest.raises(RuntimeError) as raised:
            REFUSED[name](m)
        return _words(raised.value)

    assert said(Ours) == theirs(said)


def test_a_refused_write_leaves_everything_as_it_was() -> None:
    x = tensor(X, requires_grad=True)
    y = x * 1.0
    for write in (lambda: y.add_(np.ones((2, 2, 3))), lambda: _set(y, 0, np.ones(5)), lambda: y[0].detach_()):
        with pytest.raises((RuntimeError, ValueError)):
            write()
    assert (y._version, y.grad_fn.name()) == (0, "MulBackward0")
    np.testing.assert_array_equal(grad(y.sum(), x)[0], np.ones((2, 3)))


# A computation that keeps a value, and the write that overwrites it.
OVERWRITTEN: dict[str, tuple[Program, Program]] = {
    "an operand": (lambda y: y**2, lambda y: y.mul_(2)),
    "a result": (lambda y: y.exp_(), lambda y: y.mul_(2)),
    "an operand by what was cut off it": (lambda y: y.detach() / y, lambda y: y.detach().sub_(y)),
    "through a view": (lambda y: y.sin(), lambda y: y[0].zero_()),
    "a view's operand": (lambda y: y[0].sin(), lambda y: y.zero_()),
    "an operand by its result": (lambda y: y.mul_(y), lambda y: y.erf_()),
    "an operand that PyTorch alone keeps": (lambda y: y.exp_().div_(y), lambda y: y.mul_(2)),
}
# The same writes, where PyTorch keeps only the operands.
SPARED: dict[str, tuple[Program, Program]] = {
    "a quotient": (lambda y: y / (y + 9), lambda z: z.add_(1)),
    "a quotient in place": (lambda y: y.div_(4.0).div_(y.detach() + 9), lambda z: z[0].add_(1)),
    "an absolute value": (lambda y: y.abs_(), lambda z: z.mul_(3)),
    "a copy that was computed with": (lambda y: y.mul_(y.clone().cos()), lambda z: z.add_(z.clone().exp())),
}


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_values_needed_by_a_pass(theirs: Program, name: str) -> None:
    def said(m: Any) -> str:
        compute, write = OVERWRITTEN[name]
        x = _result(m)
        y = compute(x)
        write(x)
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation") as raised:
            y.sum().backward()
        return _words(raised.value)

    assert said(Ours) == theirs(said)


@pytest.mark.parametrize("name", SPARED)
def test_values_not_needed_by_a_pass(theirs: Program, name: str) -> None:
    def found(m: Any) -> list[Any]:
        x = _leaf(m)
        compute, write = SPARED[name]
        z = compute(x * 1.0)
        write(z)
        (first,) = m.grad((z**2).sum(), x, create_graph=True)
        (second,) = m.grad(first.cos().sum(), x)
        with m.no_grad():
            write(compute(x * 1.0))
        return [np.asarray(one.detach()) for one in (z, first, second)]

    _same(found(Ours), theirs(found))


@pytest.mark.parametrize("name", ["asinh", "acosh", "atanh"])
def test_functions_that_pytorch_has_no_derivative_of_in_place(name: str) -> None:
    start = np.array([1.2, 2.5]) if name == "acosh" else np.array([0.2, -0.5])
    x = tensor(start, requires_grad=True)
    y = x * 1.0
    getattr(y, f"{name}_")()
    expected = fg.grad(lambda a: np.sum(getattr(np, f"arc{name[1:]}")(a)))(start)
    np.testing.assert_allclose(grad(y.sum(), x)[0], expected, rtol=1e-14)


def test_gradients_of_what_was_written_to_are_retained(theirs: Program) -> None:
    def found(m: Any) -> list[Any]:
        x = m.tensor(X, requires_grad=True)
        y = x * 2.0
        y.retain_grad()
        y[0].mul_(x[1])
        y.exp_()
        y.sum().backward()
        return [np.asarray(y.grad), np.asarray(x.grad), y.detach().numpy()]

    _same(found(Ours), theirs(found))


def test_a_view_from_before_a_leaf_required_a_gradient_belongs_to_it_once_written_to(theirs: Program) -> None:
    def found(m: Any) -> list[Any]:
        x = m.tensor(X)
        row, other = x[1], x[0]
        row.add_(1.0)
        later = x[0]
        x.requires_grad_()
        (row.exp().sum() + other.exp().sum() + later.exp().sum()).backward()
        return [np.asarray(x.grad), row.grad_fn.name()]

    _same(found(Ours), theirs(found))


def test_views_written_to_in_no_grad_lead_straight_to_the_root(theirs: Program) -> None:
    def found(m: Any) -> list[Any]:
        x = _leaf(m)
        rows = x[...]
        other = rows.unsqueeze(0)
        with m.no_grad():
            other.mul_(2.0)
        passed = m.grad((other**2).sum(), (rows, x), allow_unused=True)
        return [passed[0] is None, np.asarray(passed[1])]

    _same(found(Ours), theirs(found))


def test_random_numbers_cut_the_history() -> None:
    for name in ("normal_", "uniform_", "bernoulli_", "exponential_"):
        x = tensor(X, requires_grad=True)
        y = x * 1.0
        getattr(y[0], name)(generator=np.random.default_rng(0))
        np.testing.assert_array_equal(grad(y.sum(), x)[0], [[0, 0, 0], [1, 1, 1]])
        assert not np.array_equal(y[0].detach(), X[0])
    with pytest.raises(RuntimeError, match=r"normal expects std >= 0.0, but found std -1"):
        tensor(X).normal_(0, -1)


def test_a_loop_that_fills_rows_takes_time_by_the_row() -> None:
    """Each write copies a row and not the whole array, as the nodes of a pass show."""
    x = tensor(np.ones((50, 2)), requires_grad=True)
    out: Any = tensor(np.zeros((50, 2)))
    out[0] = x[0]
    for t in range(1, 50):
        out[t] = out[t - 1].clone() * 0.5 + x[t]
    loss = out.sum()
    loss.backward()
    np.testing.assert_allclose(x.grad[:, 0], [2 - 0.5 ** (49 - t) for t in range(50)])


def test_functions_that_run_a_transform_refuse_to_write_what_has_a_history() -> None:
    y = tensor(X, requires_grad=True) * 1.0

    def f(a: Any) -> Any:
        y.mul_(2.0)
        return np.sum(a * y.detach().numpy())

    with pytest.raises(TracerAssignmentError, match="Compute a new tensor, or write outside of that function"):
        fg.grad(f)(X)

    def g(a: Any) -> Any:
        tensor(X).add_(a)
        return np.sum(a)

    with pytest.raises(TracerAssignmentError, match="outlives that function"):
        fg.grad(g)(X)


def test_values_of_jax_are_replaced() -> None:
    jax = pytest.importorskip("jax")
    x = autograd.tensor(jax.numpy.asarray(X, jax.numpy.float32), requires_grad=True)
    y = (x * 1.0).clone()
    y.mul_(x)
    y[0] = x[1] * 3
    y.sum().backward()
    expected = np.stack([np.zeros(3), 2 * X[1] + 3])
    np.testing.assert_allclose(np.asarray(x.grad), expected, rtol=1e-6)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"

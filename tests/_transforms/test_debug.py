"""``fg.debug_nans`` names the operation, its line and its operands everywhere, and leaves no trace."""

import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.bind import onlookers
from funcgrad.autograd import Tensor, tensor
from funcgrad.errors import NonFiniteError

X = np.array([0.5, 0.5, 0.0])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        yield
    assert onlookers == []


def entropy(p: Any) -> Any:
    return -np.sum(p * np.log(p))  # the line of log


def roots(p: Any) -> Any:
    return np.sum(np.sqrt(p))  # the line of sqrt


def product(p: Any) -> Any:
    return fg.scan(lambda c, x: (c * np.log(x), c), 1.0, p)[0]  # the line of log


def lengths(p: Any) -> Any:
    return fg.scan(lambda c, x: (c + np.sqrt(x), c), 0.0, p)[0]  # the line of sqrt


def of_tensor(f: Callable[[Any], Any]) -> Tensor:
    x = tensor(X, requires_grad=True)
    f(x).backward()
    assert x.grad is not None
    return x.grad


def hooked(x: Any) -> Any:
    x.register_hook(lambda g: None)
    return x


LOG = r"debug_nans: log at test_debug\.py:\d+, `.*the line of log` made -inf of finite numbers, in 1 of \d"
BACK = r"debug_nans: the derivative of {}, in the pass back over the line at test_debug\.py:\d+, `.*` made inf"
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "grad, forward": (
        lambda: fg.grad(entropy)(X),
        LOG + r" places, the first at index \(2,\)\. It read float64\[3\] from 0",
    ),
    "grad, back": (lambda: fg.grad(roots)(X), BACK.format("sqrt")),
    "jvp": (lambda: fg.jvp(roots, (X,), (np.ones(3),)), r"the derivative of sqrt at test_debug.*the line of sqrt"),
    "vmap": (lambda: fg.vmap(lambda x: -np.log(x))(X), r"log at test_debug"),
    "grad of vmap": (lambda: fg.grad(lambda x: np.sum(fg.vmap(np.log)(x)))(X), r"log at test_debug"),
    "grad of grad": (lambda: fg.grad(fg.grad(lambda x: x**1.5))(0.0), BACK.format("power")),
    "jacfwd": (lambda: fg.jacfwd(fg.grad(lambda x: x**1.5))(0.0), r"mul at test_debug.* made inf"),
    "hessian": (lambda: fg.hessian(lambda x: np.sum(x**1.5))(X), r"mul at test_debug.* made inf"),
    "numpy": (lambda: fg.jit(fg.grad(entropy), engine="numpy")(X), LOG),
    "xla": (lambda: fg.jit(fg.grad(entropy))(X), LOG),
    "xla, of its arrays": (lambda: fg.jit(entropy)(fg.jit(lambda x: x + np.float32(0))(X.astype(np.float32))), LOG),
    "static": (
        lambda: fg.jit(lambda x, n: -n * np.log(x), static_argnums=1, engine="numpy")(X, 2),
        r"log at test_debug.* made -inf",
    ),
    "numpy in grad": (lambda: fg.grad(fg.jit(entropy, engine="numpy"))(X), LOG),
    "xla in grad": (lambda: fg.grad(fg.jit(entropy))(X), LOG),
    "scan": (lambda: fg.grad(product)(X), LOG.replace("1 of", "1 of")),
    "scan, back": (lambda: fg.grad(lengths)(X), BACK.format("scan")),
    "scan in jit": (lambda: fg.jit(product, engine="numpy")(X), LOG),
    "scan in jit, back": (lambda: fg.jit(fg.grad(lengths), engine="numpy")(X), r"div at .*the line of sqrt` made inf"),
    "scan in xla": (lambda: fg.jit(fg.grad(product))(X), LOG),
    "cond": (
        lambda: fg.grad(lambda x: fg.cond(x[0] > 0, entropy, roots, x))(X),
        LOG,
    ),
    "while": (
        lambda: fg.jit(lambda x: fg.while_loop(lambda c: c > -1e300, np.log, x), engine="numpy")(0.5),
        r"log at test_debug.* made nan of finite numbers, in 1 of 1",
    ),
    "tensor": (lambda: of_tensor(lambda x: -(x * x.log()).sum()), r"log at test_debug.* made -inf"),
    "tensor, back": (lambda: of_tensor(lambda x: x.sqrt().sum()), BACK.format("sqrt")),
    "tensor with a hook, back": (lambda: of_tensor(lambda x: hooked(x).sqrt().sum()), BACK.format("sqrt")),
    "back, beside parts": (
        lambda: fg.grad(lambda p: np.sum(np.sqrt(p[1:])) + p[0] + np.sum(p[:2]))(X),
        BACK.format("sqrt"),
    ),
    "complex": (lambda: fg.vmap(lambda x: 1 / x)(X + 0j), r"(div|reciprocal) at test_debug"),
    "a number": (lambda: fg.grad(lambda x: np.log(x) * 2)(0.0), r"log at .* made -inf .*It read (float64\[\] )?0\.0"),
    "overflow": (lambda: fg.grad(lambda x: np.sum(np.exp(x)))(np.array([1e3, 1.0])), "exp at .* made inf"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_operation_is_named(name: str) -> None:
    call, words = CASES[name]
    with pytest.raises(NonFiniteError, match=words), fg.debug_nans():
        call()


def test_what_is_fine_and_what_came_in_that_way_passes() -> None:
    bad = np.array([np.nan, np.inf, 1.0])
    with fg.debug_nans():
        assert np.array_equal(fg.grad(entropy)(X + 1), fg.grad(entropy)(X + 1))
        assert fg.grad(lambda x: np.sum(x * bad[1:]))(np.ones(2))[0] == np.inf
        assert np.isnan(fg.vmap(np.sqrt)(bad)[0])
        assert np.isinf(fg.jit(np.exp, engine="numpy")(bad)[1])
        assert fg.grad(lambda x: np.sum(np.where(x > 1, x, -np.inf)))(np.full(2, 3.0)).tolist() == [1, 1]
        # The sum of squares is infinite, but all numbers are finite.
        assert fg.grad(lambda x: np.sum(x * 2))(np.array([1e200, 1e300])).tolist() == [2, 2]
        assert fg.jit(lambda x: (x * 2, np.argmax(x)), engine="numpy")(X)[1] == 0


DATA = np.array([np.nan, 1.0])


def masked(x: Any, c: Any = DATA) -> Any:
    return np.sum(np.where([False, True], x * c, 0.0))  # the line of mul


def masked_tensor() -> Any:
    x = tensor(np.ones(2), requires_grad=True)
    masked(x, tensor(DATA)).backward()


MET: dict[str, Callable[[], Any]] = {
    "grad": lambda: fg.grad(masked)(np.ones(2)),
    "of an argument": lambda: fg.grad(masked)(np.ones(2), DATA),
    "vjp": lambda: fg.vjp(masked, np.ones(2))[1](1.0),
    "vmap": lambda: fg.vmap(fg.grad(masked))(np.ones((3, 2))),
    "numpy": lambda: fg.jit(fg.grad(masked), engine="numpy")(np.ones(2)),
    "numpy, of an argument": lambda: fg.jit(fg.grad(masked), engine="numpy")(np.ones(2), DATA),
    "xla": lambda: fg.jit(fg.grad(masked))(np.ones(2)),
    "xla, of an argument": lambda: fg.jit(fg.grad(masked))(np.ones(2), DATA),
    "xla in grad": lambda: fg.grad(fg.jit(masked))(np.ones(2)),
    "tensor": masked_tensor,
}


@pytest.mark.parametrize("name", MET)
def test_where_a_gradient_meets_a_nan_of_the_data_is_named(name: str) -> None:
    words = (
        r"the derivative of mul, in the pass back over the line at test_debug\.py:\d+, `.*the line of mul` met nan of"
    )
    with pytest.raises(NonFiniteError, match=words), fg.debug_nans():
        MET[name]()


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_nan_of_the_data_passes_forward_compiled_as_it_does_eagerly(engine: Any) -> None:
    with fg.debug_nans():
        assert np.isnan(fg.jit(lambda x: x * DATA, engine=engine)(np.ones(2))[0])
        kept = fg.grad(lambda x: np.sum(np.where(np.isnan(x), 0.0, x)))
        assert kept(DATA).tolist() == fg.jit(kept, engine=engine)(DATA).tolist() == [0, 1]


def test_a_write_to_a_tensor_leaves_the_checks_on() -> None:
    # This runs in another process, because the tape counts writes from the first write to a tensor on.
    code = """
import numpy as np, pytest, warnings
import funcgrad as fg
from funcgrad.autograd import tensor
with np.errstate(all="ignore"):
    with fg.debug_nans():
        y = tensor(np.ones(3), requires_grad=True) * 1.0
        y[0] = 3.0
        with pytest.raises(fg.errors.NonFiniteError, match="log"):
            (y - 1.0).log()
    assert (y - 1.0).log()[1] == -np.inf
    with pytest.raises(fg.errors.NonFiniteError, match="log"), fg.debug_nans():
        (y - 1.0).log()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("transform", [fg.grad, fg.jacfwd, lambda f: fg.vmap(f, in_axes=0)])
def test_a_write_under_a_transform_leaves_the_checks_on(transform: Any) -> None:
    def of_view(x: Any) -> Any:
        x = x.reshape(3)
        part = x[1:]
        x[1] = 0.0
        return np.sum(np.log(part))

    given = np.ones((1, 3)) if transform not in (fg.grad, fg.jacfwd) else np.ones(3)
    with pytest.raises(NonFiniteError, match=r"log at .* made -inf"), fg.debug_nans():
        transform(of_view)(given)
    transform(of_view)(given)  # Outside of the context nothing is checked.


def test_infinities_may_pass() -> None:
    with fg.debug_nans(infinities=False):
        assert fg.vmap(np.log)(X)[2] == -np.inf
        assert fg.grad(roots)(X)[2] == np.inf
        with pytest.raises(NonFiniteError, match="made nan"):
            fg.grad(entropy)(X)


def test_the_context_ends_whatever_is_raised_and_holds_for_its_own_thread() -> None:
    with pytest.raises(KeyError), fg.debug_nans():
        raise KeyError
    assert fg.grad(roots)(X)[2] == np.inf
    assert of_tensor(lambda x: x.sqrt().sum()).numpy()[2] == np.inf
    found: list[Any] = []

    def elsewhere() -> None:
        with np.errstate(all="ignore"):
            found.extend((fg.grad(roots)(X), of_tensor(lambda x: x.sqrt().sum())))

    with fg.debug_nans():
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
        with fg.debug_nans(), pytest.raises(NonFiniteError):
            fg.grad(roots)(X)
        with pytest.raises(NonFiniteError):
            fg.grad(roots)(X)
    assert len(found) == 2


def test_training_goes_on_as_without() -> None:
    params = {"w": np.ones(3)}

    def steps() -> Any:
        now, state = params, fg.sgd_init(params, lr=0.1, momentum=0.9)
        for _ in range(3):
            now, state = fg.sgd_update(fg.grad(lambda p: np.sum(np.tanh(p["w"] * X) ** 2))(now), state, now)
        return now["w"]

    with fg.debug_nans():
        watched = steps()
    assert np.array_equal(watched, steps())


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_donated_arguments_are_there_to_be_looked_at(engine: str) -> None:
    step = fg.jit(lambda x, y: np.log(x) + y, donate_argnums=0, engine=engine)
    given = fg.jit(lambda x: x * np.float32(1), engine=engine)(X.astype(np.float32))
    with (
        pytest.raises(NonFiniteError, match=r"log at test_debug.* made -inf .*It read float32\[3\] from 0"),
        fg.debug_nans(),
    ):
        step(given, np.ones(3, np.float32))
    assert np.array_equal(np.asarray(given), X.astype(np.float32))

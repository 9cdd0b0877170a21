"""Long programs on XLA: compiled in stretches, with the results of the whole program."""

import logging
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines.xla import stretches
from funcgrad._engines.xla.stretches import cut

RATES = np.random.default_rng(0).uniform(0.1, 0.9, 60).tolist()
X = np.linspace(0.1, 1.0, 5)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut programs of more than 50 equations into stretches of 16."""
    monkeypatch.setattr(stretches, "MOST_EQUATIONS", 50)
    monkeypatch.setattr(stretches, "_LENGTH", 16)


def chain(x: Any, y: Any) -> Any:
    """Return arrays after many rounds that differ."""
    for i, rate in enumerate(RATES):
        x = np.sin(x) * rate + y if i % 3 else x - rate * np.sum(x * y)
        y = y * 0.5 - x[:: 1 if i % 2 else -1]
    return x, y


def loss(x: Any, y: Any) -> Any:
    x, y = chain(x, y)
    return np.sum(x * x) + np.sum(y)


def _calls(f: Any, *args: Any) -> list[str]:
    """Return the names of the programs that JAX compiles in a call."""
    handler = logging.Handler()
    found: list[str] = []
    handler.emit = lambda record: found.append(record.getMessage())
    logger = logging.getLogger("jax._src.interpreters.pxla")
    logger.addHandler(handler)
    try:
        with jax.log_compiles():
            f(*args)
    finally:
        logger.removeHandler(handler)
    return [text for text in found if text.startswith(f"Compiling jit({f.__name__})")]


def test_a_long_program_is_compiled_in_stretches_and_gives_the_same_numbers() -> None:
    f = fg.jit(chain)
    count = len(f.graph(X, X).equations)
    want = chain(X, X)
    assert len(_calls(f, X, X)) == -(-count // 16)
    assert _calls(f, X, X) == []
    for y, z in zip(f(X, X), want, strict=True):
        assert type(y) is np.ndarray
        assert y.dtype == z.dtype
        np.testing.assert_allclose(y, z, rtol=1e-13)


def test_gradients_of_long_programs() -> None:
    want = fg.grad(loss, (0, 1))(X, X)
    for gradient in (fg.jit(fg.grad(loss, (0, 1))), fg.grad(fg.jit(loss), (0, 1))):
        for _ in range(2):
            for y, z in zip(gradient(X, X), want, strict=True):
                # The parts of a gradient are added in another order.
                np.testing.assert_allclose(y, z, rtol=1e-10)


def test_arguments_keep_their_memory() -> None:
    """Only results of earlier stretches are donated, also where an operation returns its operand unchanged."""

    def f(x: Any, y: Any) -> Any:
        same = np.reshape(x, x.shape)
        other = np.sin(y)
        kept = np.reshape(other, other.shape)
        x, y = chain(same, other)
        return x + kept, same, other

    compiled = fg.jit(f)
    with jax.enable_x64(True):
        x, y = jax.numpy.asarray(X), jax.numpy.asarray(X + 1)
        results = [compiled(x, y) for _ in range(3)][-1]
        assert not x.is_deleted()
        assert not y.is_deleted()
        for found, wanted in zip(results, f(X, X + 1), strict=True):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)


def test_memory_of_results_that_nothing_reads_later_is_donated() -> None:
    graph = fg.jit(chain).graph(X, X)
    parts = cut(graph, 16)
    assert sum(len(part.graph.equations) for part in parts) == len(graph.equations)
    assert parts[0].donated == ()
    assert any(part.donated for part in parts[1:])
    read_later: set[Any] = {x for x in graph.outputs if isinstance(x, fg.extend.Var)}
    for part in reversed(parts):
        assert not read_later & set(part.ended)
        read_later.update(part.graph.inputs)


def test_inside_a_program_of_jax_it_is_part_of_that_program() -> None:
    def powers(x: Any) -> Any:
        for rate in RATES:
            x = np.sin(x) * rate
        return np.sum(x)

    f = fg.jit(powers)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(f)(X), powers(X), rtol=1e-13)
        np.testing.assert_allclose(jax.grad(f)(X), fg.grad(powers)(X), rtol=1e-12)


def test_short_arguments_are_narrow_and_results_stay_on_the_device() -> None:
    x = X.astype(np.float32)
    results = fg.jit(chain)(x, x)
    for y, z in zip(results, chain(x, x), strict=True):
        assert isinstance(y, jax.Array)
        assert y.dtype == z.dtype
        np.testing.assert_allclose(y, z, rtol=1e-4, atol=1e-6 * float(np.max(np.abs(z))))


def test_constants_checks_and_python_numbers() -> None:
    table = np.arange(5)

    def f(x: Any, n: Any) -> Any:
        for i in range(40):
            x = x + table[i % 5] * n
            x = x * 2 if i % 4 else x - table
        return x, n

    for n in (3, np.int16(2)):
        results = fg.jit(f)(np.arange(5, dtype=np.int64), n)
        for y, z in zip(results, f(np.arange(5, dtype=np.int64), n), strict=True):
            np.testing.assert_array_equal(y, z)


def test_the_log_says_once_how_long_the_build_took(caplog: pytest.LogCaptureFixture) -> None:
    f = fg.jit(chain)
    with caplog.at_level(logging.DEBUG, "funcgrad"):
        f(X, X)
        f(X, X)
    texts = [record.getMessage() for record in caplog.records if record.name == "funcgrad"]
    assert [text.split(" in ")[0] for text in texts] == [
        "jit: staged chain",
        "jit: staged, compiled and ran chain on xla",
    ]


def _graph(step: Any, rounds: int, x: np.ndarray = X) -> Any:
    def f(x: Any) -> Any:
        for rate in (RATES * 4)[:rounds]:
            x = step(x, rate)
        return x

    return fg.jit(f, roll=False).graph(x)


STEPS = {
    "elementwise": lambda x, rate: np.sin(x) * rate + x,
    "sums": lambda x, rate: np.sin(x) * rate + np.sum(x),
    "products": lambda x, rate: np.sin(x @ x) * rate + np.sum(x),
}


@pytest.mark.parametrize("name", STEPS)
def test_only_small_arrays_with_sums_and_without_products_are_not_fused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "MOST_EQUATIONS", 400)
    monkeypatch.setattr(stretches, "_MOST_FUSED", 50)
    assert stretches.is_long(_graph(STEPS[name], 60, np.eye(4))) is (name == "sums")
    assert stretches.is_long(_graph(STEPS[name], 5, np.eye(4))) is False
    assert stretches.is_long(_graph(STEPS[name], 150, np.eye(4))) is True
    large = np.ones((400, 400))
    assert stretches.is_long(_graph(STEPS[name], 60, large)) is False
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert stretches.is_long(_graph(STEPS[name], 150, np.eye(4))) is False


def test_a_program_that_is_not_fused_is_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_MOST_FUSED", 50)
    monkeypatch.setattr(stretches, "MOST_EQUATIONS", 5000)
    monkeypatch.setattr(stretches, "_LENGTH", 2000)

    def mixed(x: Any) -> Any:
        for rate in RATES:
            x = STEPS["sums"](x, rate) * 0.1
        return np.sum(x)

    gradient = fg.jit(fg.grad(mixed), roll=False)
    assert stretches.is_long(gradient.graph(X))
    np.testing.assert_allclose(gradient(X), fg.grad(mixed)(X), rtol=1e-12)
    assert len(stretches.cut(gradient.graph(X), 2000)) == 1


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_of_long_rounds_runs_round_by_round(reverse: bool) -> None:
    """Its body is compiled in stretches, once for all rounds, forward and backward."""

    def looped(x: Any, rows: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            first, second = chain(carry, row)
            return 0.5 * first, np.sum(second)

        last, sums = fg.scan(step, x, rows, reverse=reverse)
        return np.sum(last * last) + np.sum(np.sin(sums))

    rows = np.random.default_rng(1).uniform(0.1, 1.0, (4, 5))
    f = fg.jit(fg.value_and_grad(looped, argnums=(0, 1)))
    value, gradients = f(X, rows)
    expected, wanted = fg.value_and_grad(looped, argnums=(0, 1))(X, rows)
    np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-12)
    for y, z in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(y), z, rtol=1e-10, atol=1e-14)
    assert _calls(f, X, rows) == []
    assert len(_calls(fg.jit(looped), X, np.ones((9, 5)))) < 40

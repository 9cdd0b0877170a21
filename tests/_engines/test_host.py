"""Python functions that XLA's programs call, also where XLA calls them on threads of its own."""

import threading
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg

X = np.random.default_rng(0).standard_normal((200, 200))


def branches(call: Any, x: Any, dtype: Any) -> Any:
    """Return a sum of parts that XLA computes side by side, each with a call of the host at its end."""
    parts = [call(np.linalg.inv(np.sin(x @ x) + k + 10 * np.eye(len(x))).astype(dtype)) for k in range(6)]
    return sum(parts[1:], parts[0])


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
def test_operands_and_results_keep_their_digits(dtype: str) -> None:
    threads = set()

    def host(x: np.ndarray) -> np.ndarray:
        threads.add(threading.get_ident())
        assert x.dtype == dtype
        return x + x.dtype.type(0.1)

    def called(x: Any) -> Any:
        return fg.call_numpy(host, x, x)

    compiled = fg.jit(lambda x: branches(called, x, dtype))
    expected = branches(lambda x: x + 0.1, X, dtype)
    tolerance = 1e-10 if dtype in ("f8", "c16") else 1e-5
    # Without a call on another thread this test would show nothing. On a busy machine XLA computes some runs on the
    # caller's thread alone, so the program runs until another thread was seen. On GPUs the caller's thread makes all.
    for _ in range(50):
        got = compiled(X)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
        if jax.default_backend() != "cpu" or threads - {threading.get_ident()}:
            return
    pytest.fail("XLA made all calls on the caller's thread")


def test_integers_of_64_bits_and_empty_arrays() -> None:
    huge, none = np.array([2**62 + 1, -3]), np.zeros((0, 3))
    called = fg.jit(lambda *xs: fg.call_numpy(lambda a, b: (a * 2, b), xs, *xs))
    got, empty = called(huge // 2, none)
    np.testing.assert_array_equal(got, huge // 2 * 2)
    assert (empty.shape, empty.dtype) == (none.shape, none.dtype)


def test_printed_numbers_keep_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(x: Any) -> Any:
        fg.debug_print("{}", x[0, 0] * 0 + 0.1)
        return x

    fg.jit(lambda x: branches(shown, x, "f8"))(X)
    assert capsys.readouterr().out.split() == ["0.1"] * 6


def test_a_batch_of_calls() -> None:
    xs = np.random.default_rng(1).standard_normal((4, 3))
    f = fg.jit(fg.vmap(lambda x: fg.call_numpy(np.cumsum, x, x)))
    np.testing.assert_array_equal(f(xs), np.cumsum(xs, 1))

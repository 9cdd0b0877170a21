"""Exceptions leave the transforms with the user's frames only, whatever transforms they passed through."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.tracebacks import folded

X = np.ones(3)
HERE = __file__


class OwnError(Exception):
    pass


def raising(x: Any) -> Any:
    raise OwnError("mine")


def outer(x: Any) -> Any:
    return np.sum(fg.grad(raising)(x))


def chained(x: Any) -> Any:
    try:
        raising(x)
    except OwnError as error:
        raise KeyError("theirs") from error


def unsupported(x: Any) -> Any:
    return np.sum(np.busday_count(x, x))


@pytest.fixture(autouse=True)
def _folding() -> Iterator[None]:
    with fg.full_tracebacks(False):
        yield


def failure(call: Callable[[], Any]) -> Exception:
    try:
        call()
    except Exception as error:  # noqa: BLE001  (any exception that a transform lets out)
        return error
    raise AssertionError("nothing was raised")


def shown(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)[2:]]


CALLS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "grad": (lambda: fg.grad(raising)(X), ["raising"]),
    "value_and_grad of grad": (lambda: fg.value_and_grad(outer)(X), ["outer", "raising"]),
    "vjp": (lambda: fg.vjp(outer, X), ["outer", "raising"]),
    "jvp": (lambda: fg.jvp(outer, (X,), (X,)), ["outer", "raising"]),
    "linearize": (lambda: fg.linearize(outer, X), ["outer", "raising"]),
    "hessian": (lambda: fg.hessian(outer)(X), ["outer", "raising"]),
    "hvp": (lambda: fg.hvp(outer, (X,), (X,)), ["outer", "raising"]),
    "vmap": (lambda: fg.vmap(outer)(X), ["outer", "raising"]),
    "make_graph": (lambda: fg.make_graph(outer)(X), ["outer", "raising"]),
    "jit on XLA": (lambda: fg.jit(outer)(X), ["outer", "raising"]),
    "jit on NumPy": (lambda: fg.jit(outer, engine="numpy")(X), ["outer", "raising"]),
    "grad of jit": (lambda: fg.grad(fg.jit(outer))(X), ["outer", "raising"]),
    "checkpoint": (lambda: fg.grad(fg.checkpoint(outer))(X), ["outer", "raising"]),
    "custom_vjp": (lambda: fg.custom_vjp(raising)(X), ["raising"]),
    "scan": (lambda: fg.scan(lambda c, x: (raising(x), None), 0.0, X), ["<lambda>", "raising"]),
    "cond": (lambda: fg.cond(True, raising, raising, X), ["raising"]),
    "while_loop": (lambda: fg.while_loop(lambda x: x < 1, raising, 0.0), ["raising"]),
    "fori_loop": (lambda: fg.fori_loop(0, 3, lambda i, x: raising(x), 0.0), ["<lambda>", "raising"]),
    "call_numpy": (lambda: fg.call_numpy(raising, X, X), ["raising"]),
    "check_grads": (lambda: fg.check_grads(raising, (1.0,)), ["raising"]),
    "an error of ours in the user's line": (lambda: fg.grad(unsupported)(X), ["unsupported"]),
    "an error of ours at the door": (lambda: fg.grad(raising, argnums=2)(X), []),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_frames_of_the_user_are_left(name: str) -> None:
    call, wanted = CALLS[name]
    error = failure(call)
    assert shown(error) == wanted
    assert all(frame.filename == HERE for frame in traceback.extract_tb(error.__traceback__))
    assert not getattr(error, "__notes__", [])


def test_the_cause_stays_and_is_folded_too() -> None:
    error = failure(lambda: fg.jit(fg.grad(chained), engine="numpy")(X))
    assert isinstance(error, KeyError)
    assert isinstance(error.__cause__, OwnError)
    assert [frame.name for frame in traceback.extract_tb(error.__cause__.__traceback__)] == ["chained", "raising"]


def test_the_user_may_catch_between_two_transforms() -> None:
    def caught(x: Any) -> Any:
        seen.extend(shown(failure(lambda: outer(x))))
        return np.sum(x * x)

    seen: list[str] = []
    np.testing.assert_array_equal(fg.grad(caught)(X), 2 * X)
    assert seen == ["outer", "raising"]


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with fg.full_tracebacks():
        assert len(shown(failure(lambda: fg.grad(raising)(X)))) > 1
    with fg.full_tracebacks():
        assert len(shown(failure(lambda: fg.grad(raising)(X)))) > 1, "each context has a last word of its own"
    lengths: list[int] = []
    thread = threading.Thread(target=lambda: lengths.append(len(shown(failure(lambda: fg.grad(raising)(X))))))
    monkeypatch.setenv("FUNCGRAD_FULL_TRACEBACKS", "1")
    thread.start()
    thread.join()
    monkeypatch.setenv("FUNCGRAD_FULL_TRACEBACKS", "0")
    other = threading.Thread(target=lambda: lengths.append(len(shown(failure(lambda: fg.grad(raising)(X))))))
    other.start()
    other.join()
    assert lengths[0] > 1
    assert lengths[1] == 1


def test_a_door_is_the_function_to_whoever_looks() -> None:
    assert folded(outer).__name__ == "outer"
    assert folded(outer).__globals__ is globals()
    assert fg.scan.__doc__
    assert fg.scan.__globals__["__name__"] == "funcgrad._transforms.control.loops"


MAKERS: dict[str, Callable[[Any], Any]] = {
    "grad": fg.grad,
    "value_and_grad": fg.value_and_grad,
    "hessian": fg.hessian,
    "jacobian": fg.jacobian,
    "vmap": fg.vmap,
    "jit": fg.jit,
    "make_graph": fg.make_graph,
    "checkpoint": fg.checkpoint,
    "custom_vjp": fg.custom_vjp,
    "from_jax": fg.from_jax,
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_transform_of_no_function_is_refused_where_it_is_asked_for(name: str) -> None:
    with pytest.raises(TypeError, match="function") as caught:
        MAKERS[name](3)
    assert [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)][1:] == []

"""``fg.debug_print`` and ``fg.breakpoint``: output of a running program, on every engine."""

import io
import pdb  # noqa: T100  (it is what is tested)
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines import settle_effects
from funcgrad.autograd import tensor

ENGINES = ["numpy", "xla", "numba"]
HALVES = np.array([0.5, 1.0])


def shown(x: Any) -> Any:
    fg.debug_print("x={} twice={twice}", x, twice=x * 2)
    fg.debug_print("here")
    return np.sin(x)


def looped(x: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        fg.debug_print("c={c:.1f} t={t}", c=c, t=t)
        fg.debug_print("step")
        return c * x, None

    return fg.scan(step, 1.0, np.arange(2))[0]


def unread(x: Any) -> Any:
    """An operation whose result nobody reads is dropped, except for the lines that it prints."""
    fg.cond(x > 0, lambda x: (fg.debug_print("positive"), x)[1], lambda x: x, x)
    fg.while_loop(lambda i: i < 2, lambda i: (fg.debug_print("i={}", i), i + 1)[1], 0)
    return x


def of_a_constant(x: Any) -> Any:
    return x * fg.grad(shown)(3.0)


def alike(x: Any) -> Any:
    """Two equal prints print twice."""
    fg.debug_print("x={}", x)
    fg.debug_print("x={}", x)
    return x


ONE = ["x=1.0 twice=2.0", "here"]
LOOP = ["c=1.0 t=0", "step", "c=2.0 t=1", "step"]
# A function, an argument, and the output of one call.
CASES: dict[str, tuple[Callable[..., Any], Any, list[str]]] = {
    "a function": (shown, 1.0, ONE),
    "its gradient": (fg.grad(shown), 1.0, ONE),
    "its tangent": (lambda x: fg.jvp(shown, (x,), (1.0,)), 1.0, ONE),
    "second derivative": (fg.grad(fg.grad(shown)), 1.0, ONE),
    "linearize": (lambda x: fg.linearize(shown, x)[0], 1.0, ONE),
    "a batch": (fg.vmap(shown), HALVES, ["x=0.5 twice=1.0", "x=1.0 twice=2.0", "here"]),
    "batches of a batch": (fg.vmap(fg.vmap(alike)), HALVES[None], 2 * ["x=0.5", "x=1.0"]),
    "a loop": (looped, 2.0, LOOP),
    "the gradient of a loop": (fg.grad(looped), 2.0, LOOP),
    "the tangent of a loop": (lambda x: fg.linearize(looped, x)[0], 2.0, LOOP),
    "what nobody reads": (unread, 1.0, ["positive", "i=0", "i=1"]),
    "a constant's gradient": (of_a_constant, 1.0, ["x=3.0 twice=6.0", "here"]),
    "twice the same": (alike, 1.0, ["x=1.0", "x=1.0"]),
}


@pytest.mark.parametrize("name", CASES)
def test_every_call_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    f, x, wanted = CASES[name]
    f(x)
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(wanted)
    for engine in ENGINES:
        compiled: Any = fg.jit(f, engine=engine)
        for _ in range(2):
            compiled(x)
            settle_effects()
            lines = capsys.readouterr().out.splitlines()
            # XLA prints when the program reaches the operation.
            assert (sorted(lines) if engine == "xla" else lines) == (sorted(wanted) if engine == "xla" else wanted)


def test_inside_a_compiled_function_that_is_differentiated(capsys: pytest.CaptureFixture[str]) -> None:
    for f, x, wanted in ((shown, 1.0, ONE), (looped, 2.0, LOOP)):
        for engine in ENGINES:
            compiled: Any = fg.jit(f, engine=engine)
            for transform in (fg.grad(compiled), lambda x, f=compiled: fg.jvp(f, (x,), (1.0,)), fg.hessian(compiled)):
                transform(x)
                settle_effects()
                assert sorted(capsys.readouterr().out.splitlines()) == sorted(wanted)


def test_the_order_is_kept_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    @fg.jit
    def f(x: Any) -> Any:
        for i in range(8):
            fg.debug_print("{} {}", i, x, ordered=True)
        return x

    f(np.float32(1))
    settle_effects()
    assert capsys.readouterr().out.splitlines() == [f"{i} 1.0" for i in range(8)]


def test_trees_text_and_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    fg.jit(lambda p: (fg.debug_print("{0[w]} {name!r} {{}}", p, name="adam"), p)[1], engine="numpy")({"w": HALVES})
    fg.debug_print("{t:}", t=tensor([1.0]) * 2)
    fg.debug_print("nothing")
    assert capsys.readouterr().out.splitlines() == ["[0.5 1. ] 'adam' {}", "[2.]", "nothing"]


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no string": (lambda: fg.debug_print(cast("Any", HALVES)), TypeError, r"template must be a string\. Arrived a nd"),
    "no argument": (
        lambda: fg.debug_print("{} {}", 1.0),
        ValueError,
        r"has a place for argument 1; the call has 1 positional .* names \[\]",
    ),
    "no name": (lambda: fg.debug_print("{x}", y=1.0), ValueError, r"has a place for an argument .x.*names \[.y.\]"),
    "no place": (lambda: fg.debug_print("x", 1.0), ValueError, r"has no place for argument 0.*no f before the string"),
    "no part": (lambda: fg.debug_print("{0.eigen}", 1.0), ValueError, r"reads a part that its argument does not"),
    "no end": (lambda: fg.debug_print("{", 1.0), ValueError, r"'{' is not a template \(.*To print a brace"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, kind, text = BAD[name]
    with pytest.raises(kind, match=text):
        call()


def stopped(x: Any) -> Any:
    y = np.sin(x)
    fg.breakpoint()
    return y * x


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_a_breakpoint_shows_the_local_variables(engine: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def look() -> None:
        frame = sys._getframe(1)
        place = frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno, frame.f_globals["pytest"]
        seen.append((place, dict(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", look)
    gradient: Any = fg.grad(stopped)
    gradient = gradient if engine is None else fg.jit(gradient, engine=engine)
    slope = gradient(0.5)
    settle_effects()
    assert np.isclose(slope, 0.5 * np.cos(0.5) + np.sin(0.5))
    ((place, values),) = seen
    assert place == ("stopped", __file__, stopped.__code__.co_firstlineno + 2, pytest)
    assert values == {"x": 0.5, "y": np.sin(0.5)}
    fg.breakpoint(pair=(1.0, "text"))
    assert seen[1][1] == {"pair": (1.0, "text")}


def test_in_the_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()

    def hook() -> None:
        debugger = pdb.Pdb(stdin=io.StringIO("p y\nlist\nc\n"), stdout=out, nosigint=True, readrc=False)
        debugger.set_trace(sys._getframe(1))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    before = sys.gettrace()
    try:
        fg.jit(stopped, engine="numpy")(0.5)
    finally:
        sys.settrace(before)
    for text in ("stopped()", repr(np.sin(0.5)), "-> fg.breakpoint()", "return y * x"):
        assert text in out.getvalue()

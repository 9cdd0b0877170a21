"""Bad calls over the whole public surface: each is refused by its class, in words, and leaves everything as it was.

``bad_calls/`` holds them, a line each: the call, the class of its error, and words of its message, in which three dots
stand for anything. ``python -m tests.laws.bad_calls`` looks for further ones.
"""

from __future__ import annotations

import builtins
import dataclasses
import re
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import autograd, errors, extend, nn, optim, random, scipy, sharding, sparse, tree
from funcgrad._core.bind import active_trace, onlookers
from funcgrad.autograd import tensor
from funcgrad.optim import lr_scheduler, schedules

FILES = sorted(Path(__file__).with_name("bad_calls").glob("*.txt"))
# Errors whose message tells the user nothing. A class must not derive from them by chance, so each has a row with an
# index.
BARE = (AttributeError, AssertionError, RecursionError, ZeroDivisionError)


@dataclasses.dataclass
class Point:
    """A class that is no pytree."""

    x: float
    y: float


def nested(levels: int) -> Any:
    x: Any = 0.0
    for _ in range(levels):
        x = [x]
    return x


def assigned(out: Any, x: Any) -> Any:
    out[0] = x[0]
    return np.sum(out)


def custom_vjp(forward: Any, backward: Any) -> Any:
    function = fg.custom_vjp(lambda x: np.sum(x))
    function.defvjp(forward, backward)
    return function


def watched(call: Callable[[], Any]) -> Any:
    with fg.debug_nans():
        return call()


def twice(x: Any) -> None:
    y = (x**2).sum()
    y.backward()
    y.backward()


def squared(x: Any) -> Any:
    return np.sum(tree.leaves(x)[0] ** 2) if isinstance(x, dict | list) else np.sum(x**2)


def files(folder: Path) -> dict[str, Path]:
    """A checkpoint, and what is none."""
    saved = folder / "saved"
    fg.save(saved, {"w": np.ones(3), "b": 1.0})
    whole = saved.read_bytes()
    flipped = whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:]
    contents = {"foreign": b"PK not ours at all", "empty": b"", "torn": whole[:-5], "flipped": flipped}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name.upper(): folder / name for name in ("saved", "path", *contents)} | {"FOLDER": folder}


def names(folder: Path) -> dict[str, Any]:
    """Return new arguments for each call."""
    x = np.array([1.0, 2.0, 3.0])
    params = {"w": x, "b": np.float64(0.5)}
    cycle: list[Any] = []
    cycle.append(cycle)
    leaf = tensor([1.0, 2.0, 3.0], requires_grad=True)
    modules = (autograd, extend, nn, optim, random, sharding, sparse, tree, lr_scheduler, schedules)
    return {
        **{name: getattr(scipy, name) for name in scipy.__all__},
        **{module.__name__.rpartition(".")[2]: module for module in modules},
        **{each.__name__: each for each in (tensor, Point, assigned, custom_vjp, watched, twice)},
        "fg": fg,
        "jax": fg.jax,
        "torch": fg.torch,
        "np": np,
        "fnp": fnp,
        "X": x,
        "P": params,
        "T": leaf,
        "A": np.arange(6.0).reshape(2, 3),
        "f": squared,
        "same": lambda x: x,
        "DEEP": nested(3000),
        "CYCLE": cycle,
        "KEY": random.key(0),
        "STATE": fg.sgd_init(params, lr=0.1, momentum=0.9),
        "SGD": optim.SGD([leaf], lr=0.1),
        "M": nn.Linear(3, 2),
        **(files(folder) if folder.name == "files" else {}),
    }


def kind_of(name: str) -> type[BaseException]:
    found = [getattr(each, name, None) for each in (errors, builtins, np.linalg, np.exceptions, dataclasses)]
    return next(kind for kind in found if kind is not None)


def rows(path: Path) -> Iterator[tuple[str, type[BaseException], str]]:
    for line in path.read_text().splitlines():
        call, kind, words = line.rsplit(" | ", 2)
        yield call, kind_of(kind), re.escape(words).replace(r"\.\.\.", ".*")


def fault(call: str, kind: type[BaseException], words: str, given: dict[str, Any]) -> str | None:
    """Return the fault in how a call is refused; ``None`` if there is none."""
    before = {name: repr(given[name]) for name in ("P", "T", "STATE") if name in call}
    try:
        eval(compile(call, "<call>", "eval"), given)
    except BaseException as error:  # noqa: BLE001  (which class it is, is what is asked)
        if type(error) is not kind or not re.search(words, str(error)):
            return f"{type(error).__name__}: {error}"
        if isinstance(error, BARE) and not isinstance(error, dataclasses.FrozenInstanceError):
            return f"{type(error).__name__} comes from inside"
    else:
        return "no error"
    if active_trace() is not None or onlookers:
        return "a transform is left open"
    changed = [name for name, text in before.items() if repr(given[name]) != text]
    if changed and "_(" not in call and "setattr" not in call:
        return f"{changed[0]} is changed"
    x = np.array([1.0, 2.0])
    good = fg.grad(squared)(x), COMPILED(x), fg.sgd_update(x, fg.sgd_init(x, lr=1.0), x)[0]
    return None if repr(good) == GOOD else f"a good call gives {good} then"


COMPILED = fg.jit(squared, engine="numpy")
GOOD = repr((np.array([2.0, 4.0]), np.float64(5.0), np.array([0.0, 0.0])))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_bad_calls_are_refused_in_words(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / path.stem
    faults = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, row in enumerate(rows(path)):
            mine = folder / str(i) / path.stem
            mine.mkdir(parents=True)
            found = fault(*row, names(mine))
            if found is not None:
                faults.append(f"{row[0]}\n    {found}")
    assert not faults, "\n".join(faults)


def test_there_are_enough_of_them() -> None:
    """250, and of every public module some."""
    calls = [call for path in FILES for call, _, _ in rows(path)]
    assert len(set(calls)) == len(calls) >= 250
    text = "\n".join(calls)
    modules = [name for name in fg.__all__ if isinstance(getattr(fg, name), types.ModuleType)]
    spoken = {
        "numpy": "fnp.",
        "scipy": "special.",
        "interop": "fg.from_jax",
        "io": "fg.load",
        "errors": "fg.",
        "testing": "check_grads",
    }
    assert [name for name in modules if spoken.get(name, f"{name}.") not in text] == []


class TheirError(Exception):
    """An error of the user's own."""


# Made anew each time: an error holds all that was alive where it was raised.
ERRORS: list[Callable[[], BaseException]] = [
    lambda: TheirError("mine"),
    lambda: KeyError("key"),
    lambda: IndexError("list index out of range"),
    lambda: AttributeError("attribute"),
    lambda: RecursionError("recursion"),
    KeyboardInterrupt,
]
PLACES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "grad": lambda f: fg.grad(f)(np.ones(2)),
    "jvp": lambda f: fg.jvp(f, (np.ones(2),), (np.ones(2),)),
    "vmap": lambda f: fg.vmap(f)(np.ones(2)),
    "hessian": lambda f: fg.hessian(f)(np.ones(2)),
    "jit": lambda f: fg.jit(f)(np.ones(2)),
    "jit on NumPy": lambda f: fg.jit(f, engine="numpy")(np.ones(2)),
    "scan": lambda f: fg.scan(lambda c, x: (f(c), x), 0.0, np.ones(2)),
    "cond": lambda f: fg.cond(True, f, f, np.ones(2)),
    "while_loop": lambda f: fg.while_loop(f, f, 1.0),
    "checkpoint": lambda f: fg.grad(lambda x: np.sum(fg.checkpoint(f)(x)))(np.ones(2)),
    "custom_vjp": lambda f: fg.grad(custom_vjp(f, f))(np.ones(2)),
    "call_numpy": lambda f: fg.call_numpy(f, fg.ShapeDtype((2,), float), np.ones(2)),
    "check_grads": lambda f: fg.check_grads(f, (np.ones(2),)),
    "tree.map": lambda f: tree.map(f, [1.0]),
    "apply_along_axis": lambda f: fnp.apply_along_axis(f, 0, np.ones((2, 2))),
    "piecewise": lambda f: fnp.piecewise(np.ones(2), [np.ones(2, bool)], [f]),
    "a closure of a step": lambda f: optim.SGD([tensor([1.0], requires_grad=True)], lr=0.1).step(lambda: f(1.0)),
    "a hook": lambda f: hooked(f).sum().backward(),
    "taps and checks": lambda f: looked_at(f),
}


def hooked(f: Callable[..., Any]) -> Any:
    x = tensor([1.0], requires_grad=True)
    x.register_hook(f)
    return x


def looked_at(f: Callable[..., Any]) -> Any:
    with fg.taps(), fg.debug_nans():
        return fg.grad(f)(np.ones(2))


@pytest.mark.parametrize("place", PLACES)
def test_the_users_errors_pass_as_they_are(place: str) -> None:
    for made in ERRORS:
        error = made()

        def f(*args: Any, error: BaseException = error) -> Any:
            raise error

        with pytest.raises(type(error)) as caught:
            PLACES[place](f)
        assert caught.value is error
        del caught, error, f
        assert active_trace() is None
        assert onlookers == []
        assert fg.grad(squared)(2.0) == 4.0

"""Under load: at once, interrupted, forked, for 10,000 steps, in long programs; copied and pickled."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from linecache import getline
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn, optim
from funcgrad._core.bind import active_trace, onlookers
from funcgrad._core.graph.simplify import simplify
from funcgrad._core.tracebacks import PACKAGE
from funcgrad.autograd import tensor

# `FUNCGRAD_EQUATIONS=1000000` and `FUNCGRAD_EVERY_LINE=1` try what takes minutes.
EQUATIONS = int(os.environ.get("FUNCGRAD_EQUATIONS", "1500"))
EVERY = 1 if os.environ.get("FUNCGRAD_EVERY_LINE") else 7
X = np.linspace(0.5, 1.5, 4)


def wave(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


SLOPE = np.sin(X) + X * np.cos(X)


def loss(params: Any) -> Any:
    return np.sum(params["w"] ** 2) + np.sum(params["b"] * params["w"][:2])


def fresh() -> dict[str, Any]:
    return {"w": np.ones(4), "b": np.full(2, 0.5)}


class Run:
    """Train in one of three ways, which give the same numbers."""

    def __init__(self, way: str) -> None:
        self.take = getattr(self, way)
        self.params = fresh()
        self.state = fg.sgd_init(self.params, lr=1e-3, momentum=0.9)
        self.leaves = {name: tensor(x, requires_grad=True) for name, x in self.params.items()}
        self.optimizer = optim.SGD(list(self.leaves.values()), lr=1e-3, momentum=0.9)

    def pure(self) -> None:
        self.params, self.state = fg.sgd_update(fg.grad(loss)(self.params), self.state, self.params)

    def compiled(self) -> None:
        self.params, self.state = COMPILED(self.params, self.state)

    def tensors(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss(self.leaves).backward()
        self.optimizer.step()

    def numbers(self) -> np.ndarray:
        found = (
            {name: x.detach().numpy() for name, x in self.leaves.items()} if self.take == self.tensors else self.params
        )
        return np.concatenate([found["w"], found["b"]])


def _step(params: Any, state: Any) -> Any:
    return fg.sgd_update(fg.grad(loss)(params), state, params)


COMPILED = fg.jit(_step, engine="numpy")
WAYS = ["pure", "compiled", "tensors"]


def after(steps: int) -> np.ndarray:
    run = Run("pure")
    for _ in range(steps):
        run.take()
    return run.numbers()


def test_threads_and_tasks_step_at_once() -> None:
    """Eight threads, in each of which eight tasks take turns, one of them under checks."""
    wanted = after(20)

    async def train(way: str, checked: bool) -> None:
        run = Run(way)
        for _ in range(20):
            if checked:
                with fg.debug_nans():
                    run.take()
                    await asyncio.sleep(0)
            else:
                run.take()
                await asyncio.sleep(0)
        np.testing.assert_allclose(run.numbers(), wanted, rtol=1e-12)
        np.testing.assert_allclose(fg.grad(wave)(X), SLOPE)

    async def together(number: int) -> None:
        await asyncio.gather(*[train(WAYS[(i + number) % 3], i == 7) for i in range(8)])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(asyncio.run, together(number)) for number in range(8)]:
                done.result()
    finally:
        sys.setswitchinterval(before)
    assert onlookers == []


@contextmanager
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def looked_at() -> None:
    with fg.debug_nans(), fg.taps():
        fg.grad(lambda x: np.sum(fg.tap("x", x)[1:] ** 2))(X)


def refused() -> None:
    with pytest.raises(TypeError):
        fg.grad(lambda x: x)(X)


def written(x: Any) -> Any:
    y = np.zeros_like(x)
    y[0] = x[1]
    return np.sum(y * x)


OTHERS: dict[str, Callable[[], Any]] = {
    "jvp": lambda: fg.jvp(wave, (X,), (X,)),
    "vmap": lambda: fg.vmap(np.sin)(X),
    "hessian": lambda: fg.hessian(wave)(X),
    "scan": lambda: fg.grad(lambda x: fg.scan(lambda c, t: (c * t, c), 1.0, x)[0])(X),
    "checkpoint": lambda: fg.grad(lambda x: np.sum(fg.checkpoint(np.sin)(x)))(X),
    "writes": lambda: fg.grad(written)(X),
    "a new learning rate": lambda: fg.sgd_init(fresh(), lr=1e-3).replace(lr=0.1),
    "checks and taps": looked_at,
    "an error": refused,
    "a compilation": lambda: fg.jit(lambda x: np.sum(x * x), engine="numpy")(X),
}


@pytest.fixture(scope="module")
def few_objects() -> Iterator[None]:
    """Hide the objects of earlier tests from the collector, which would walk over all of them each time."""
    gc.freeze()
    yield
    gc.unfreeze()


def grown(call: Callable[[], Any], times: int) -> int:
    """Return how many more objects are alive after the calls, while the garbage collector is off."""
    for _ in range(5):
        call()
    with no_collector():
        before = len(gc.get_objects())
        for _ in range(times):
            call()
        return len(gc.get_objects()) - before


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("way", WAYS)
def test_steps_leave_nothing_behind(way: str) -> None:
    assert grown(Run(way).take, 10_000 if way == "compiled" else 2_000) < 100


@pytest.mark.usefixtures("few_objects")
def test_nothing_else_does() -> None:
    found = {name: grown(call, 60) for name, call in OTHERS.items()}
    assert {name: count for name, count in found.items() if count >= 30} == {}


def interrupted(call: Callable[[], Any], at: int) -> bool:
    """Interrupt a call as it comes to a line of ours, the one with this number; whether it came so far."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        # Python comes to the line of a ``with`` once more before it leaves it, where no signal is looked for.
        if event == "line" and not getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            count += 1
            if count == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


INTERRUPTED: dict[str, Callable[[], Any]] = {
    "grad": lambda: fg.grad(wave)(X),
    "grad of grad": lambda: fg.grad(lambda x: fg.grad(lambda y: y**3)(x) * x)(2.0),
    "vmap of grad": lambda: fg.vmap(fg.grad(lambda x: np.sin(x) * x))(X),
    "jvp": lambda: fg.jvp(wave, (X,), (X,)),
    "scan": lambda: fg.grad(lambda x: fg.scan(lambda c, t: (c * t, c), 1.0, x)[0])(X),
    "compile": lambda: fg.jit(fg.grad(wave), engine="numpy")(X),
    "pure": Run("pure").take,
    "tensors": Run("tensors").take,
}


COMPILED_ON_XLA = fg.jit(wave)


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interruption_at_any_line_leaves_all_usable(name: str) -> None:
    # The mode of JAX's is entered where its engine is in use, and has to be left.
    COMPILED_ON_XLA(X)
    run, at = Run("pure"), 1
    every = 3 * EVERY if name in {"compile", "scan"} else EVERY
    while interrupted(INTERRUPTED[name], at):
        at += every
        assert active_trace() is None
        assert onlookers == []
        assert jax.numpy.ones(1).dtype == np.float32
        np.testing.assert_allclose(fg.grad(wave)(X), SLOPE)
        run.take()
    INTERRUPTED[name]()
    assert at > every
    again = Run("tensors")
    again.take()
    np.testing.assert_allclose(again.numbers(), after(1), rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.grad(wave), engine="numpy")(X), SLOPE)


FORKED = """
import multiprocessing
import numpy as np
import funcgrad as fg

BIG = np.linspace(0.0, 1.0, 300_000)
KEY = fg.random.key(0)

def f(x):
    return np.sum(np.exp(x) * x)

compiled = fg.jit(f, engine="numpy")

def work(_):
    fg.grad(f)(BIG)
    fg.sgd_update(BIG, fg.sgd_init(BIG, lr=0.1, momentum=0.9), BIG)
    return float(compiled(BIG)), float(fg.random.normal(KEY, (100_000,)).sum())

if __name__ == "__main__":
    wanted = work(0)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(work, range(2)) == [wanted] * 2, method
"""


def test_forked_and_spawned_processes_go_on(tmp_path: Path) -> None:
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    # The processes form a group, so that all of them can be ended together.
    process = subprocess.Popen(
        [sys.executable, script], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        _, said = process.communicate(timeout=120)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, said


def chain(x: Any) -> Any:
    for _ in range(EQUATIONS // 2):
        x = np.sin(x) * 1.5
    return np.sum(x)


def test_long_programs_need_no_recursion() -> None:
    graph = fg.make_graph(chain)(X)
    assert len(graph.equations) >= EQUATIONS
    assert f"{EQUATIONS // 2 - 1:,} more rounds of 2 equations" in str(graph)
    assert graph.flops > EQUATIONS
    wanted = chain(X)
    for again in (graph, simplify(graph), pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        np.testing.assert_allclose(again(X), wanted)
    gradient = fg.grad(chain)(X)
    np.testing.assert_allclose(fg.grad(graph)(X), gradient)
    np.testing.assert_allclose(fg.jit(chain, engine="numpy")(X), wanted)
    np.testing.assert_allclose(fg.jit(fg.grad(chain), engine="numpy")(X), gradient)


def squared(x: Any) -> Any:
    return np.sum(x**2)


@fg.jit(engine="numpy")
def decorated(x: Any) -> Any:
    return np.sum(x**2)


STATE = fg.sgd_init(fresh(), lr=0.1, momentum=0.9)
COPIED: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "a state": (STATE, lambda state: fg.sgd_update(fresh(), state, fresh())),
    "a packed state": (fg.sgd_init(fg.tree.ravel(fresh()), lr=0.1, momentum=0.9), str),
    "a state of Adam": (optim.adam_init(fresh()), lambda state: optim.adam_update(fresh(), state, fresh())),
    "a graph": (fg.make_graph(fg.grad(wave))(X), lambda graph: (graph(X), str(graph))),
    "a graph of a loop": (
        fg.make_graph(lambda x: fg.scan(lambda c, t: (c * t, c), 1.0, x)[0])(X),
        lambda graph: graph(X),
    ),
    "a linear program": (fg.linearize(wave, X)[1], lambda f: f(X)),
    "a tensor": (tensor([1.0, 2.0], requires_grad=True), lambda x: (x.detach().numpy(), x.requires_grad)),
    "a module": (
        nn.Sequential(nn.Linear(3, 2), nn.Tanh()),
        lambda module: module(tensor([1.0, 2.0, 3.0])).detach().numpy(),
    ),
    "an optimizer": (optim.SGD([tensor([1.0], requires_grad=True)], lr=0.1), lambda optimizer: optimizer.state_dict()),
    "a schedule": (optim.schedules.cosine(0.1, 10), lambda schedule: schedule(3)),
    "a type": (fg.ShapeDtype((3,), float), repr),
    "a structure": (fg.tree.structure(fresh()), repr),
    "rows": (fg.sparse.Rows(np.array([0]), np.ones((1, 3)), (3, 3)), repr),
    "a compiled function": (fg.jit(squared, engine="numpy"), lambda f: f(X)),
    "one for XLA": (fg.jit(squared), repr),
    "a decorated one": (decorated, lambda f: f(X)),
    "an error": (fg.errors.CheckpointError("words"), repr),
}
WAYS_TO_COPY: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("name", COPIED)
def test_copies_do_what_the_original_does(name: str) -> None:
    original, use = COPIED[name]
    wanted = use(original)
    for way, of in WAYS_TO_COPY.items():
        again = of(original)
        assert type(again) is type(original), way
        found, needed = fg.tree.leaves(use(again)), fg.tree.leaves(wanted)
        assert len(found) == len(needed), way
        for x, y in zip(found, needed, strict=True):
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y), err_msg=way)


def test_a_gradient_needs_no_more_than_it_keeps() -> None:
    """Each further layer of a network takes the memory of what its derivative reads, and of its gradients.

    The tape reads copies of the matrices, because the caller may write to them.
    """
    batch, width = 64, 32

    def network(layers: list[Any], x: Any) -> Any:
        for w in layers:
            x = np.tanh(x @ w)
        return np.sum(x)

    def peak(count: int) -> int:
        layers = [np.full((width, width), 0.01) for _ in range(count)]
        x = np.ones((batch, width))
        fg.grad(network)(layers, x)
        tracemalloc.start()
        try:
            fg.grad(network)(layers, x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # The derivative of a small tanh reads its operand and its result.
    kept = 2 * batch * width * 8
    made = copied = width * width * 8
    assert (peak(20) - peak(10)) / 10 <= kept + made + copied

"""GradBench's protocol: a JSON message in a line of standard input, a JSON response in a line of standard output."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np

EVALUATIONS = ("ba", "det", "gmm", "hello", "ht", "kmeans", "llsq", "lse", "lstm", "ode", "particle", "saddle")


class Compiler(Protocol):
    """`fg.jit` with an engine: it takes a function and the names of its static arguments."""

    def __call__(self, function: Callable[..., Any], /, *, static_argnames: tuple[str, ...] = ()) -> Callable[..., Any]:
        """Return the compiled function."""
        ...


class Task(NamedTuple):
    """One function of an evaluation.

    Args:
        run: the function that is timed.
        read: makes its arguments from the message's input.
        write: makes the response's output from its result.
    """

    run: Callable[..., Any]
    read: Callable[[Any], tuple[Any, ...]]
    write: Callable[[Any], Any] = lambda result: plain(result)


class Tool:
    """The answers to an evaluation's messages.

    Args:
        compiler: compiles the programs that stage, such as `functools.partial(fg.jit, engine="xla")`.
    """

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._modules: dict[str, dict[str, Task]] = {}

    def answers(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield a response for each line that holds a message."""
        for line in lines:
            if line.strip():
                yield json.dumps(self.answer(json.loads(line)))

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the response to one message. An error of a program is a response too."""
        response: dict[str, Any] = {"id": message["id"]}
        try:
            match message["kind"]:
                case "start":
                    response["tool"] = "funcgrad"
                case "define":
                    self._module(message["module"])
                    response["success"] = True
                case "evaluate":
                    task = self._task(message["module"], message["function"])
                    response |= {"success": True} | evaluate(task, message["input"])
                case _:
                    pass
        except Exception:  # noqa: BLE001  (the protocol reports errors in the response, and the evaluation goes on)
            response |= {"success": False, "error": traceback.format_exc()}
        return response

    def _module(self, name: str) -> dict[str, Task]:
        if name not in EVALUATIONS:
            raise LookupError(f"there is no program for the module {name!r}; there are {', '.join(EVALUATIONS)}")
        if name not in self._modules:
            self._modules[name] = import_module(f"benchmarks.gradbench.{name}").tasks(self._compiler)
        return self._modules[name]

    def _task(self, module: str, function: str) -> Task:
        tasks = self._module(module)
        if function not in tasks:
            raise LookupError(f"{module} has no function {function!r}; it has {', '.join(tasks)}")
        return tasks[function]


def evaluate(task: Task, given: Any) -> dict[str, Any]:
    """Run a task `min_runs` times and for `min_seconds`, whichever is longer; return its output and its timings."""
    runs, seconds = (given["min_runs"], given["min_seconds"]) if isinstance(given, dict) else (1, 0.0)
    arguments = task.read(given)
    result = None
    timings: list[dict[str, Any]] = []
    spent = 0
    while not timings or len(timings) < runs or spent < seconds * 1e9:
        start = time.perf_counter_ns()
        result = task.run(*arguments)
        nanoseconds = time.perf_counter_ns() - start
        timings.append({"name": "evaluate", "nanoseconds": nanoseconds})
        spent += nanoseconds
    return {"output": task.write(result), "timings": timings}


def plain(result: Any) -> Any:
    """Return a result as JSON's numbers, lists and objects."""
    if isinstance(result, dict):
        return {name: plain(value) for name, value in result.items()}
    return np.asarray(result).tolist()


def arrays(*names: str) -> Callable[[dict[str, Any]], tuple[np.ndarray, ...]]:
    """Return a function that reads these fields of an input as arrays of float64."""
    return lambda given: tuple(np.array(given[name], np.float64) for name in names)

"""Programs of ``torch.nn`` that run alike on ``funcgrad.nn``: rows of text, evaluated with either library."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from funcgrad import nn as our_nn
from funcgrad.autograd import Tensor, tensor


def numbers(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Return numbers without ties, and away from the kinks of activations."""
    return np.random.default_rng(seed).uniform(low, high, shape).round(3) + 0.0004


class Library:
    """One of the two libraries, with the names that rows use."""

    def __init__(self, torch: Any = None) -> None:
        self.torch = torch
        self.nn: Any = our_nn if torch is None else torch.nn

    def tensor(self, x: Any, requires_grad: bool = False) -> Any:
        if self.torch is None:
            return tensor(x, requires_grad=requires_grad)
        return self.torch.tensor(x, requires_grad=requires_grad)

    def is_tensor(self, x: Any) -> bool:
        return isinstance(x, Tensor if self.torch is None else self.torch.Tensor)

    def names(self) -> dict[str, Any]:
        """Return what a row may name."""

        def floats(*shape: int, **how: Any) -> Any:
            return self.tensor(numbers(*shape, **how), requires_grad=True)

        def narrow(*shape: int, **how: Any) -> Any:
            return self.tensor(numbers(*shape, **how).astype(np.float32), requires_grad=True)

        def integers(*values: Any) -> Any:
            return self.tensor(np.array(values))

        return {
            "nn": self.nn,
            "F": self.nn.functional,
            "f": floats,
            "g": narrow,
            "i": integers,
            "t": self.tensor,
            "np": np,
        }


def plain(x: Any) -> Any:
    """Return a result as numbers, texts, arrays and lists."""
    if isinstance(x, tuple | list):
        return [plain(y) for y in x]
    if x is None or isinstance(x, str | int | float):
        return x
    if isinstance(x, np.ndarray):
        return x
    return np.array(x.detach().numpy())


def flat(x: Any) -> list[Any]:
    return [z for y in x for z in flat(y)] if isinstance(x, tuple | list) else [] if x is None else [x]


def gradients(library: Library, result: Any, inputs: list[Any]) -> list[Any]:
    """Return the gradients of a weighted sum of the results by the inputs."""
    outputs = [y for y in flat(result) if library.is_tensor(y) and y.requires_grad]
    if not outputs:
        return []
    total: Any = 0
    for y in outputs:
        weights = np.cos(np.arange(y.numel())).reshape(tuple(y.shape))
        total = total + (y * library.tensor(weights.astype(str(y.dtype).removeprefix("torch.")))).sum()
    total.backward()
    return [plain(x.grad) for x in inputs]


def outcome(library: Library, text: str) -> Any:
    """Evaluate a call of a function: its values, and its gradients by the tensors ``f(...)`` in it."""
    names = library.names()
    made: list[Any] = []

    def floats(*shape: int, **how: Any) -> Any:
        made.append(names["f"](*shape, **{"seed": len(made), **how}))
        return made[-1]

    result = eval(text, {**names, "f": floats})
    return [plain(result), gradients(library, result, made)]


def state_of(module: Any) -> dict[str, np.ndarray]:
    """Return a state with numbers that both libraries get."""
    held = {}
    for i, (name, x) in enumerate(module.state_dict().items()):
        value = np.asarray(x.detach().numpy())
        positive = name.endswith(("running_var",))
        drawn = numbers(*value.shape, seed=100 + i, low=0.5 if positive else -0.6, high=1.5 if positive else 0.6)
        held[name] = drawn.astype(value.dtype) if value.dtype.kind == "f" else value
    return held


def module_outcome(library: Library, text: str, inputs: str, dtype: str = "float64") -> dict[str, Any]:
    """Build a module, load a state, call it, and return everything that can be compared."""
    names = library.names()
    module = eval(text, names)
    module = module.double() if dtype == "float64" else module.float()
    state = state_of(module)
    module.load_state_dict({name: library.tensor(value) for name, value in state.items()})
    made: list[Any] = []

    def floats(*shape: int, **how: Any) -> Any:
        made.append(library.tensor(numbers(*shape, **{"seed": len(made), **how}).astype(dtype), requires_grad=True))
        return made[-1]

    arguments = eval(f"({inputs},)", {**names, "f": floats})
    result = module(*arguments)
    parameters = [p for p in module.parameters() if p.requires_grad]
    found = gradients(library, result, [*made, *parameters])
    module.eval()
    with_grad_off = plain(module(*arguments))
    return {
        "repr": repr(module).replace("torch.", ""),
        "state": [[name, list(value.shape)] for name, value in state.items()],
        "value": plain(result),
        "gradients": found,
        "evaluation": with_grad_off,
        "buffers": [plain(x) for x in module.buffers()],
    }


def message(library: Library, text: str) -> list[str]:
    """Return class and text of the error that a row raises."""
    try:
        eval(text, library.names())
    except Exception as error:  # noqa: BLE001  (all that is raised is compared)
        text = re.sub(r"<class '(\w+\.)*(\w+)'>", r"<class '\2'>", str(error).replace("torch.", ""))
        return [type(error).__name__, " ".join(text.split())]
    return ["nothing", ""]


def assert_close(found: Any, expected: Any, tolerance: float, where: str = "") -> None:
    """Compare nested results: shapes exactly, numbers within a tolerance."""
    if isinstance(expected, list):
        assert isinstance(found, list), where
        assert len(found) == len(expected), where
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert_close(a, b, tolerance, f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert set(found) == set(expected)
        for key in expected:
            assert_close(found[key], expected[key], tolerance, f"{where}.{key}")
    elif isinstance(expected, np.ndarray):
        assert found.shape == expected.shape, where
        assert found.dtype == expected.dtype, where
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=where)
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=where)
    else:
        assert found == expected, where

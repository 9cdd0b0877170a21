"""PyTorch's own lists of inputs and errors for its optimizers (``optim_db``): live, and as they were written."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad import optim
from funcgrad.autograd import Tensor, tensor
from tests.optim._family import MATRICES, STEPS, Made, Run, gradient_of, is_matrices, made_of
from tests.optim._sides import Side

GOLDEN_TABLES = Path(__file__).with_name("golden_tables.json")
# The optimizers of PyTorch that are rules. Adafactor and LBFGS have tests of their own.
NAMES = [
    *("ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Muon"),
    *("NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam"),
]
MADE = {name: made_of(getattr(optim, name)) for name in NAMES}


def run_with(made: Made, options: dict[str, Any]) -> Run:
    """Seven steps with these options; the learning rate changes once."""
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal(shape) for shape in (MATRICES if is_matrices(made) else ((3, 2), (4,)))]
    grads = [[gradient_of(made, rng, p) for p in starts] for _ in range(STEPS)]
    return Run([{}], options, [starts], grads, [0.1], 3)


def live_tables(torch: Any) -> dict[str, Any]:
    """For each optimizer its inputs with the numbers that they give, and its errors."""
    common = import_module("torch.testing._internal.common_optimizers")
    found = {}
    for info in common.optim_db:
        name = info.optim_cls.__name__
        if name not in MADE:
            continue
        inputs = []
        for given in info.optim_inputs_func("cpu", torch.float64):
            side = Side(MADE[name], run_with(MADE[name], given.kwargs), torch)
            for step in range(STEPS):
                side.step(step)
            numbers = np.concatenate([np.ravel(p) for p in side.found()]).tolist()
            inputs.append({"desc": given.desc, "kwargs": _encoded(given.kwargs, {}), "found": numbers})
        errors = []
        for error in info.optim_error_inputs_func("cpu", torch.float64):
            if "dense parameter tensors" in error.error_regex:
                # Our tensors are dense.
                continue
            given, seen = error.optimizer_error_input, {}
            errors.append(
                {
                    "desc": given.desc,
                    "params": _encoded(given.params, seen),
                    "kwargs": _encoded(given.kwargs, seen),
                    "type": error.error_type.__name__,
                    "regex": error.error_regex,
                }
            )
        found[name] = {"inputs": inputs, "errors": errors}
    return found


def golden_tables() -> dict[str, Any]:
    return json.loads(GOLDEN_TABLES.read_text())


def _encoded(x: Any, seen: dict[int, Any]) -> Any:
    """Return a value that JSON can hold; a tensor that occurs twice gets one number."""
    if hasattr(x, "requires_grad"):
        number, dtype = seen.setdefault(id(x), (len(seen), x))[0], str(x.dtype).removeprefix("torch.")
        # JSON has no complex numbers: pairs of real ones.
        values = np.stack([x.detach().real.numpy(), x.detach().imag.numpy()]) if x.is_complex() else x.detach().numpy()
        return {"tensor": values.tolist(), "dtype": dtype, "grad": x.requires_grad, "id": number}
    if isinstance(x, dict):
        return {"dict": {key: _encoded(value, seen) for key, value in x.items()}}
    if isinstance(x, tuple | list):
        return {type(x).__name__: [_encoded(value, seen) for value in x]}
    return x


def decoded(x: Any, seen: dict[int, Tensor] | None = None) -> Any:
    """The same of our tensors."""
    seen = {} if seen is None else seen
    if not isinstance(x, dict):
        return x
    if "tensor" in x:
        if x["id"] not in seen:
            values = np.array(x["tensor"])
            values = values[0] + 1j * values[1] if x["dtype"].startswith("complex") else values
            seen[x["id"]] = tensor(values.astype(x["dtype"]), requires_grad=x["grad"])
        return seen[x["id"]]
    if "dict" in x:
        return {key: decoded(value, seen) for key, value in x["dict"].items()}
    return tuple([decoded(y, seen) for y in x["tuple"]]) if "tuple" in x else [decoded(y, seen) for y in x["list"]]

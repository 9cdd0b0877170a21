"""Write PyTorch's results, messages and texts to ``golden_autograd.npz``, for machines without PyTorch.

python -m tests.autograd.make_golden
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.autograd._methods import PAIRS, flat, observed
from tests.autograd._overwritten import ALLOWED, REFUSED
from tests.autograd._programs import (
    CALLS,
    PRINTED,
    PROGRAMS,
    accumulated,
    asked,
    complex_gradients,
    derivatives,
    refusal,
    texts,
)


def golden(torch: Any) -> dict[str, np.ndarray]:
    """Return PyTorch's answers by name: arrays of numbers and of texts."""

    def make(x: np.ndarray) -> Any:
        return torch.tensor(x, requires_grad=True)

    found: dict[str, Any] = {}
    for name in PROGRAMS:
        found |= {f"derivatives/{name}/{i}": x for i, x in enumerate(derivatives(make, torch.autograd.grad, name))}
        found |= {f"accumulated/{name}/{i}": x for i, x in enumerate(accumulated(make, name))}
    found |= {f"complex/{i}": x for i, x in enumerate(complex_gradients(make, torch.autograd.grad))}
    seen = {pair: observed(*pair, torch.tensor, lambda y: y.detach().numpy()) for pair in PAIRS}
    found["seen"] = [one.text for one in seen.values()]
    found |= {
        f"seen/{name}": np.concatenate([flat(seen[pair].numbers) for pair in PAIRS if pair[0] == name])
        for name, _ in PAIRS
    }
    found["asked"] = asked(torch.tensor)
    found |= {f"text/{name}": texts(torch.tensor, name) for name in PRINTED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        calls = (CALLS | REFUSED).items()
        refusals = {name: refusal(call, torch.autograd, torch.tensor, torch.optim) for name, call in calls}
    for name, call in ALLOWED.items():
        results = call(torch.autograd, torch.tensor, torch.optim)
        found |= {f"overwritten/{name}/{i}": x.numpy() for i, x in enumerate(results)}
    return {name: np.array(x) for name, x in (found | {f"refusal/{k}": v for k, v in refusals.items()}).items()}


if __name__ == "__main__":
    # This is not an import statement, because the tests and the type checker run without PyTorch.
    numbers = golden(import_module("torch"))
    np.savez_compressed(Path(__file__).with_name("golden_autograd.npz"), allow_pickle=False, **numbers)

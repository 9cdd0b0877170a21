"""Functions of the namespace give PyTorch's values, dtypes, gradients and refusals."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch, assert_same, decoded, encoded
from tests.torch._expressions import inputs, lines


def plain(y: Any) -> Any:
    """A result as numbers, texts and arrays, whichever library it is of."""
    if hasattr(y, "detach"):
        return np.asarray(y.detach().numpy())
    if isinstance(y, tuple) and hasattr(y, "_fields"):
        names: Any = getattr(y, "_fields")  # noqa: B009  (a tuple's type has no such field)
        return {name: plain(value) for name, value in zip(names, y, strict=True)}
    if type(y).__module__ == "torch.return_types":
        names = [name for name in dir(y) if not name.startswith(("_", "n_", "count", "index")) or name == "indices"]
        return {name: plain(getattr(y, name)) for name in names}
    if isinstance(y, list | tuple):
        return [plain(one) for one in y]
    if isinstance(y, np.dtype) or type(y).__name__ == "dtype":
        return str(y).removeprefix("torch.")
    return y


def run(torch: Any, text: str, **options: Any) -> Any:
    return eval(text, inputs(torch, **options))


def differentiated(torch: Any, text: str) -> dict[str, Any]:
    """The value, and the gradients of a weighted sum of its floating parts."""
    given = inputs(torch, requires_grad=True)
    y = eval(text, given)
    parts = [one for one in (y if isinstance(y, tuple | list) else [y]) if one.requires_grad]
    found = {"value": plain(y)}
    if parts:
        weights = [torch.cos(torch.arange(one.numel(), dtype=torch.float64)).reshape(one.shape) for one in parts]
        total: Any = sum((one * weight).sum() for one, weight in zip(parts, weights, strict=True))
        total.backward()
    grads = {name: x.grad for name, x in given.items() if name in "xysvb" and x.grad is not None}
    return found | {name: plain(grad) for name, grad in grads.items()}


@pytest.mark.parametrize("text", lines("differentiable"))
def test_values_and_gradients(text: str, pytorch: PyTorch) -> None:
    with warnings.catch_warnings():
        # PyTorch warns of functions that it calls old.
        warnings.simplefilter("ignore")
        theirs = pytorch(lambda torch: differentiated(torch, text))
    assert_same(decoded(encoded(differentiated(funcgrad.torch, text))), theirs)


@pytest.mark.parametrize("text", lines("plain"))
def test_values(text: str, pytorch: PyTorch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pytorch(lambda torch: plain(run(torch, text, requires_grad=False)))
        assert_same(decoded(encoded(plain(run(funcgrad.torch, text, requires_grad=False)))), theirs)


def test_results_of_float32_have_pytorchs_dtypes(pytorch: PyTorch) -> None:
    def dtypes(torch: Any) -> dict[str, list[str]]:
        made = inputs(torch, requires_grad=False)
        made.update({name: made[name].to(torch.float32) for name in "xysvb"})
        found: dict[str, list[str]] = {}
        for text in (*lines("differentiable"), *lines("plain")):
            # Some texts name float64 themselves, which does not go with float32.
            with contextlib.suppress(RuntimeError, ValueError, TypeError):
                parts = eval(text, dict(made))
                parts = parts if isinstance(parts, tuple | list) else [parts]
                found[text] = [str(one.dtype).removeprefix("torch.") for one in parts if hasattr(one, "dtype")]
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = pytorch(dtypes), dtypes(funcgrad.torch)
    assert {text: ours.get(text) for text in theirs} == theirs


def refusal(torch: Any, text: str) -> list[str]:
    try:
        run(torch, text, requires_grad=False)
    except Exception as error:  # noqa: BLE001  (the class is compared)
        return [type(error).__name__, str(error)]
    return ["accepted", ""]


@pytest.mark.parametrize("text", lines("refused"))
def test_refusals_have_pytorchs_class(text: str, pytorch: PyTorch) -> None:
    theirs = pytorch(lambda torch: refusal(torch, text)[0])
    kind, message = refusal(funcgrad.torch, text)
    assert kind == theirs
    assert message

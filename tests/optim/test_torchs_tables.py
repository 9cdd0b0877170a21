"""PyTorch's own lists of inputs and errors, where they apply: the same numbers, and the same refusals.

They are in a file that ``python -m tests.optim.make_golden_tables`` writes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import optim
from funcgrad.autograd import Tensor, tensor
from tests.optim._family import STEPS, is_matrices
from tests.optim._sides import Side, in_double, tolerance
from tests.optim._tables import MADE, NAMES, decoded, golden_tables, live_tables, run_with

ERRORS: dict[str, type[Exception]] = {
    "TypeError": TypeError,
    "ValueError": ValueError,
    "RuntimeError": RuntimeError,
    "KeyError": KeyError,
}


@pytest.fixture(scope="module")
def tables() -> dict[str, Any]:
    return golden_tables()


def test_the_file_holds_pytorchs_lists(tables: dict[str, Any], torch: Any) -> None:
    with in_double(torch), torch.random.fork_rng():
        torch.manual_seed(0)
        live = live_tables(torch)
    assert live.keys() == tables.keys()
    for name, found in live.items():
        assert found["errors"] == tables[name]["errors"]
        for mine, held in zip(found["inputs"], tables[name]["inputs"], strict=True):
            assert mine | {"found": []} == held | {"found": []}
            np.testing.assert_allclose(mine["found"], held["found"], **tolerance(MADE[name], np.float64))


def options_of(name: str, given: dict[str, Any], seen: dict[int, Tensor]) -> dict[str, Any]:
    options = decoded(given["kwargs"], seen)
    # Newer PyTorch has a default learning rate.
    return {"lr": 1e-3, **options} if name == "SGD" else options


@pytest.mark.parametrize("name", NAMES)
def test_inputs(name: str, tables: dict[str, Any]) -> None:
    made = MADE[name]
    assert len(tables[name]["inputs"]) > (1 if name == "SparseAdam" else 3)
    for given in tables[name]["inputs"]:
        side = Side(made, run_with(made, options_of(name, given, {})), None)
        for step in range(STEPS):
            side.step(step)
        found = np.concatenate([np.ravel(p) for p in side.found()])
        np.testing.assert_allclose(found, given["found"], **tolerance(made, np.float64), err_msg=given["desc"])


@pytest.mark.parametrize("name", NAMES)
def test_errors(name: str, tables: dict[str, Any]) -> None:
    assert len(tables[name]["errors"]) > 5
    for given in tables[name]["errors"]:
        seen: dict[int, Tensor] = {}
        params, options = decoded(given["params"], seen), options_of(name, given, seen)
        if params is None:
            params = [tensor(np.ones((2, 2)) if is_matrices(MADE[name]) else np.ones(2), requires_grad=True)]
        if given["type"] == "UserWarning":
            with pytest.warns(UserWarning, match=given["regex"]):
                getattr(optim, name)(params, **options)
            continue
        with pytest.raises(ERRORS[given["type"]], match=given["regex"]):
            make_and_step(name, params, options)


def make_and_step(name: str, params: Any, options: dict[str, Any]) -> None:
    """Some refusals are those of a step."""
    optimizer = getattr(optim, name)(params, **options)
    for p in params:
        p.grad = p.detach()
    optimizer.step()

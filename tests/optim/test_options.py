"""Options that are no numbers, and groups of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from funcgrad import optim
from funcgrad.autograd import tensor
from funcgrad.optim import schedules

FUNCTION = r"lr is a function; needed a number: PyTorch's optimizers take no schedules"
TREE = r"lr is a dict; needed a number\. For several values make groups, \[{'params': \[w\], 'lr': 0\.1}, \.\.\.\]"


def _tensor() -> Any:
    return tensor(np.ones(2), requires_grad=True)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (schedules.cosine(0.1, 5), FUNCTION),
        ({"a": 0.1, "b": 0.2}, TREE),
        ([0.1], "lr is a list; needed a number"),
        ("0.1", r"lr is '0\.1'; needed a number\. Pass lr=0\.1, say"),
        (None, "lr is None; needed a number"),
    ],
)
def test_an_option_that_is_no_number(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        optim.SGD([_tensor()], lr=value)
    with pytest.raises(TypeError, match=message):
        optim.SGD([{"params": [_tensor()], "lr": value}], lr=0.1)
    optimizer = optim.Adam([_tensor()], lr=0.1)
    with pytest.raises(TypeError, match=message):
        optimizer.add_param_group({"params": [_tensor()], "lr": value})
    assert len(optimizer.param_groups) == 1
    optimizer.param_groups[0]["lr"] = value
    with pytest.raises(TypeError, match=message):
        optimizer.step(grads=[np.ones(2)])


def test_groups_of_arrays() -> None:
    groups = [{"params": np.ones(2), "lr": 0.2}, {"params": {"a": np.ones(1), "b": [np.ones(3)]}}]
    optimizer = optim.SGD(groups, lr=0.1)
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 2]
    assert isinstance(groups[0]["params"], np.ndarray)
    first, second = optimizer.step(grads=[np.ones(2), {"a": np.ones(1), "b": [None]}])
    assert_array_equal(first, [0.8, 0.8])
    assert_array_equal(second["a"], [0.9])
    assert_array_equal(second["b"][0], np.ones(3))


def test_an_integer_leaf_without_gradient_stays() -> None:
    params = {"w": np.ones(2), "n": np.arange(3)}
    new = optim.Adam(params, lr=0.1).step(grads={"w": np.ones(2), "n": None})
    assert_array_equal(new["n"], np.arange(3))
    assert new["w"][0] < 1

"""Methods of tensors return PyTorch's results, and share memory if PyTorch's share it.

What PyTorch gives is in ``golden_autograd.npz``, which ``test_against_torch.py`` holds to it.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from funcgrad.autograd import Tensor, tensor
from funcgrad.autograd._methods.table import TABLES
from tests._recorded import read_golden
from tests.autograd._methods import INPUTS, METHODS, PAIRS, flat, observed

GOLDEN = read_golden(Path(__file__).with_name("golden_autograd.npz"))
SEEN = dict(zip(PAIRS, GOLDEN["seen"].tolist(), strict=True))


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    given = [given for other, given in PAIRS if other == name]
    found = {one: observed(name, one, tensor, lambda y: y.detach()._value) for one in given}
    assert {one: seen.text for one, seen in found.items()} == {one: SEEN[name, one] for one in given}
    numbers = [flat(found[one].numbers) for one in given]
    ends = np.cumsum([len(part) for part in numbers])[:-1]
    for one, mine, golden in zip(given, numbers, np.split(GOLDEN[f"seen/{name}"], ends), strict=True):
        tolerance = 2e-3 if INPUTS[one].dtype.itemsize == 2 else 1e-7
        np.testing.assert_allclose(mine, golden, rtol=tolerance, atol=tolerance, err_msg=one)


def test_each_name_is_in_one_table_only() -> None:
    counts = Counter(name for table in TABLES for name in table)
    assert not [name for name, count in counts.items() if count > 1]
    own = {name for name, attribute in vars(Tensor).items() if getattr(attribute, "__module__", "").endswith("_tensor")}
    assert not own & counts.keys()

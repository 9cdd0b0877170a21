"""The planted faults: each fits its file, and the tests notice a sample of them. `make mutants` runs all."""

import pytest

from tests.mutants.__main__ import CHECKOUT, is_noticed
from tests.mutants.table import MUTANTS

SAMPLE = ("keys: 1, 1.0 and True are one number",)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_fits_its_file(name: str) -> None:
    mutant = MUTANTS[name]
    assert (CHECKOUT / "funcgrad" / mutant.file).read_text().count(mutant.right) == 1
    assert all((CHECKOUT / each).exists() for each in mutant.tests)


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_is_noticed(name: str) -> None:
    assert is_noticed(MUTANTS[name])

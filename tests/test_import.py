"""Importing funcgrad is light: a program loads the rooms that it uses, and no others."""

import subprocess
import sys
from pathlib import Path

import pytest

import funcgrad as fg

ROOT = Path(__file__).parents[1]

FIRST_GRADIENT = """
import sys
import numpy as np
import funcgrad as fg
fg.grad(lambda x: np.sum(np.tanh(x)))(np.ones(3))
print("\\n".join(name for name in sys.modules if name.startswith("funcgrad")))
"""
# A first gradient needs none of these.
UNUSED = ("autograd", "extend", "interop", "io", "nn", "optim", "scipy", "sharding", "sparse", "testing")


def test_a_first_gradient_loads_what_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_GRADIENT], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert len(loaded) <= 220
    assert {name.split(".")[1] for name in loaded if "." in name} & set(UNUSED) == set()
    assert "funcgrad._engines.source.numba" not in loaded


def test_importing_funcgrad_imports_neither_jax_nor_scipy() -> None:
    program = "import sys, funcgrad; sys.exit(', '.join({'jax', 'scipy'} & sys.modules.keys()) or 0)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names_are_loaded_when_they_are_first_used() -> None:
    program = "import sys, funcgrad as fg; fg.sgd_init; sys.exit(0 if 'funcgrad.optim' in sys.modules else 1)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def test_a_missing_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="gradient"):
        fg.gradient  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]  (it is not there)


@pytest.mark.parametrize(
    "path",
    [
        "_core.bind.Tracer",
        "_core.graph.ir.Graph",
        "_transforms.base.shape_dtype.ShapeDtype",
        "io._directory.CheckpointDir",
        "optim._torch.family.SGDState",
    ],
)
def test_the_name_of_a_class_does_not_depend_on_what_was_used(path: str) -> None:
    module, _, name = path.rpartition(".")
    program = f"from funcgrad.{module} import {name}; assert {name}.__module__ == 'funcgrad'"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0

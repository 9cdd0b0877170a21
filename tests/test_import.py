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
UNUSED = ("autograd", "extend", "interop", "io", "jax", "nn", "optim", "scipy", "sharding", "sparse", "testing")


def test_a_first_gradient_loads_what_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_GRADIENT], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert len(loaded) <= 235
    assert {name.split(".")[1] for name in loaded if "." in name} & set(UNUSED) == set()
    assert "funcgrad._engines.source.numba" not in loaded


def test_importing_funcgrad_imports_neither_jax_nor_scipy() -> None:
    program = "import sys, funcgrad; sys.exit(', '.join({'jax', 'scipy'} & sys.modules.keys()) or 0)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_jaxs_names_imports_no_jax() -> None:
    program = "import sys, funcgrad.jax; sys.exit('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names_are_loaded_when_they_are_first_used() -> None:
    program = "import sys, funcgrad as fg; fg.sgd_init; sys.exit(0 if 'funcgrad.optim' in sys.modules else 1)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


FIRST_CALLS = {
    "packing": "assert fg.tree.ravel({'w': np.ones(2)}).unpack()['w'].tolist() == [1.0, 1.0]",
    "tensors": "t = fg.autograd.tensor([1.0], requires_grad=True); (t * t).sum().backward(); assert t.grad.item() == 2",
    "keys": "assert fg.random.normal(fg.random.key(0), (2,)).shape == (2,)",
    "distributions": "assert fg.scipy.stats.norm.logpdf(0.0) < 0",
    "an optimizer": "fg.sgd_update(np.ones(2), fg.sgd_init(np.ones(2), lr=0.1), np.ones(2))",
    "a module": "fg.nn.Linear(2, 1)(fg.autograd.tensor(np.ones((1, 2), np.float32)))",
    "numba": "assert fg.jit(np.tanh, engine='numpy')(0.0) == 0",
    "a graph": "assert 'sin' in str(fg.make_graph(np.sin)(1.0)); fg.make_graph(np.sin)(1.0).to_dot()",
    "SciPy's own ufunc": "import scipy.special as s; assert fg.grad(s.expit)(0.0) == 0.25",
    "NumPy's linear algebra": "assert fg.grad(lambda x: np.linalg.inv(x)[0, 0])(np.ones((1, 1)))[0, 0] == -1",
    "NumPy's transforms": "fg.grad(lambda x: np.real(np.fft.fft(x)[1]))(np.ones(4))",
    "NumPy's polynomials": "fg.grad(lambda x: np.polynomial.polynomial.polyval(2.0, x))(np.ones(3))",
}


@pytest.mark.parametrize("program", FIRST_CALLS.values(), ids=FIRST_CALLS)
def test_each_part_can_be_the_first_that_a_program_uses(program: str) -> None:
    text = f"import numpy as np, funcgrad as fg\n{program}"
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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

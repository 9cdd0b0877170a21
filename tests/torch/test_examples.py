"""The examples print the same with ``import torch``, and ResNet-18 has torchvision's keys."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch, Tolerance
from tests.torch.test_programs import lines

FOLDER = Path(__file__).parents[2] / "examples" / "torch"
OUR_IMPORT = "import funcgrad.torch as torch\n"
# Training makes a difference in the last digit larger with each step, also between two processors that run PyTorch.
TRAINED: Tolerance = {"rtol": 0.02, "atol": 1e-3}
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))


def loaded(name: str, program: str) -> Any:
    """The module of an example with this text."""
    path = FOLDER / f"{name}.py"
    spec = importlib.util.spec_from_loader(name, loader=None, origin=str(path))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__file__"] = str(path)
    exec(compile(program, str(path), "exec"), module.__dict__)
    return module


def printed(name: str, program: str) -> list[Any]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        loaded(name, program).main()
    return lines(out.getvalue())


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_the_same_with_pytorch(name: str, pytorch: PyTorch) -> None:
    program = (FOLDER / f"{name}.py").read_text()
    assert program.count(OUR_IMPORT) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        theirs = pytorch(lambda torch: printed(name, program.replace(OUR_IMPORT, "import torch\n")), TRAINED)
    ours = printed(name, program)
    assert [words for words, _ in ours] == [words for words, _ in theirs]
    found, expected = [np.array([n for _, numbers in each for n in numbers]) for each in (ours, theirs)]
    np.testing.assert_allclose(found, expected, **TRAINED)


def test_the_resnet_has_the_keys_of_torchvision() -> None:
    module = loaded("resnet18", (FOLDER / "resnet18.py").read_text())
    norm = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    keys = ["conv1.weight", *[f"bn1.{part}" for part in norm]]
    for stage in range(1, 5):
        for block in range(2):
            start = f"layer{stage}.{block}"
            for i in (1, 2):
                keys += [f"{start}.conv{i}.weight", *[f"{start}.bn{i}.{part}" for part in norm]]
            if stage > 1 and block == 0:
                keys += [f"{start}.downsample.0.weight", *[f"{start}.downsample.1.{part}" for part in norm]]
    state = module.ResNet18().state_dict()
    assert list(state) == [*keys, "fc.weight", "fc.bias"]
    assert state["layer4.0.downsample.0.weight"].shape == (512, 256, 1, 1)
    assert module.torch is sys.modules[funcgrad.torch.__name__]

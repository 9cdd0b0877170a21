"""Arrays spread over devices, each check in ``_eight_devices.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import funcgrad as fg
from funcgrad._engines.xla.shardings import meshes

ROOT = Path(__file__).parents[1]


@pytest.mark.long
def test_on_eight_devices() -> None:
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "_eight_devices.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def _no_mesh_stays() -> Iterator[None]:
    before = set(meshes)
    yield
    meshes.intersection_update(before)


WRAPPERS = {
    "alone": lambda init, update: (init, update),
    "accumulate": lambda init, update: fg.optim.accumulate(init, update, 2),
    "skip_nonfinite": fg.optim.skip_nonfinite,
}


@pytest.mark.usefixtures("_no_mesh_stays")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("kind", [AxisType.Explicit, AxisType.Auto])
def test_a_spread_state_on_one_device(wrapper: str, kind: Any) -> None:
    assert jax.device_count() == 1
    mesh = jax.make_mesh((1,), ("data",), axis_types=(kind,))
    whole = NamedSharding(mesh, PartitionSpec())
    start, g = np.ones((8, 4), np.float32), np.full((8, 4), 0.5, np.float32)
    init, update = WRAPPERS[wrapper](fg.sgd_init, fg.sgd_update)
    expected, plain = start, init(start, lr=0.1, momentum=0.9)
    for _ in range(3):
        expected, plain = update(g, plain, expected)
    for step in (update, fg.jit(update), jax.jit(update)):
        p, grads = jax.device_put((start, g), whole)
        state = fg.sharding.shard_state(init(p, lr=0.1, momentum=0.9), mesh, "data")
        for _ in range(3):
            p, state = step(grads, state, p)
            assert not any(p.sharding.spec)
            buffers = getattr(state, "inner", state).buffers
            if kind is AxisType.Explicit:
                assert tuple(buffers.sharding.spec) == ("data", None)
        np.testing.assert_allclose(np.asarray(p), expected, rtol=1e-6)

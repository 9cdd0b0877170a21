"""Programs on a mesh with explicit axes, JAX's default: where it asks how a result lies, our lowering answers."""

import os
import subprocess
import sys

SCRIPT = """
import jax
import numpy as np
import funcgrad as fg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit, AxisType.Explicit))
rng = np.random.default_rng(0)
plain = {
    "x": rng.normal(size=(16, 8)), "y": rng.normal(size=16), "w": rng.normal(size=(8, 4)), "b": rng.normal(size=4),
    "v": rng.normal(size=4), "table": rng.normal(size=(10, 4)),
}
plain = {name: x.astype(np.float32) for name, x in plain.items()}
ids = np.arange(16) % 10
specs = {"x": P("data", None), "y": P("data"), "w": P(None, "model"), "b": P("model"), "v": P("model"),
         "table": P(None, "model")}
spread = {name: jax.device_put(x, NamedSharding(mesh, specs[name])) for name, x in plain.items()}
hidden = lambda p: np.tanh(p["x"] @ p["w"] + p["b"])
losses = {
    "mlp": lambda p: np.mean((hidden(p) @ p["v"] - p["y"]) ** 2),
    "einsum": lambda p: np.sum(np.einsum("bi,ij,j->b", p["x"], p["w"], p["v"]) * p["y"]),
    "where": lambda p: np.sum(np.where(hidden(p) > 0, hidden(p), 0)),
    "max": lambda p: np.sum(np.max(hidden(p), axis=1) * p["y"]),
    "softmax": lambda p: np.sum((h := np.exp(hidden(p))) / np.sum(h, axis=1, keepdims=True) * p["x"][:, :4]),
    "rows of a table": lambda p: np.sum(p["table"][ids] * hidden(p)),
    "an element of each row": lambda p: np.sum(hidden(p)[np.arange(16), ids % 4] * p["y"]),
    "std": lambda p: np.std(hidden(p)),
    "transpose": lambda p: np.sum((p["w"].T @ p["x"].T) * p["y"]),
    "reshape": lambda p: np.sum(np.reshape(hidden(p), (16, 2, 2)) ** 2),
    "sort": lambda p: np.sum(np.sort(hidden(p), axis=1) * p["v"]),
    "cumsum": lambda p: np.sum(np.cumsum(hidden(p), axis=0) * p["y"][:, None]),
}
for name, loss in losses.items():
    wanted = fg.grad(loss)(plain)
    for gradient in (fg.jit(fg.grad(loss)), fg.grad(loss))[: 2 if name == "mlp" else 1]:
        found = gradient(spread)
        for leaf in found:
            np.testing.assert_allclose(found[leaf], wanted[leaf], rtol=2e-4, atol=1e-4, err_msg=f"{name}: {leaf}")

step = fg.jit(lambda p, s: fg.sgd_update(fg.grad(losses["mlp"])(p), s, p))
params, state = step(spread, fg.sgd_init(spread, lr=0.1, momentum=0.9))
assert {name: x.sharding.spec for name, x in params.items()} == specs, params["w"].sharding
assert {name: x.sharding.spec for name, x in state.buffers.items()} == specs
"""


def test_programs_on_explicit_meshes() -> None:
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr

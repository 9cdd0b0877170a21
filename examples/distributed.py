"""Train on several machines: the same program on each, with its part of the data and of the optimizer's state.

On one machine, to try it: four processes, which find each other over the loopback interface.

python examples/distributed.py --local 4

On a cluster each process is started by the scheduler. Slurm and TPU pods tell JAX how many there are and where the
first is; elsewhere that is said. The folder is one that all of them share.

srun --ntasks-per-node=1 python examples/distributed.py --folder /shared/run
python examples/distributed.py --folder /shared/run --coordinator 10.0.0.1:1234 --processes 8 --process 3

The run goes on from the latest checkpoint in the folder, whatever number of processes wrote it. When a process is lost,
the others say so and end: start the run again, with as many as are left.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import funcgrad as fg

ROWS, INPUTS, WIDTH, BATCH = 4096, 16, 64, 64
# Seconds until a process that says nothing more is given up.
PATIENCE = 10

Run = dict[str, Any]


class Data:
    """A table in a file, of which only the rows that are asked for are read."""

    def __init__(self, folder: Path) -> None:
        path = folder / "data.npy"
        if not path.exists():
            self._make(path)
        self._table = np.load(path, mmap_mode="r")
        self.rows_read = 0

    @staticmethod
    def _make(path: Path) -> None:
        """Inputs and a smooth function of them; processes that make it at once make the same."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(ROWS, INPUTS))
        y = np.sin(x @ rng.normal(size=INPUTS)) + 0.1 * rng.normal(size=ROWS)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"data.{os.getpid()}.npy")
        np.save(part, np.column_stack([x, y]).astype(np.float32))
        part.replace(path)

    def batch(self, step: int, rows: NamedSharding) -> jax.Array:
        """The batch of a step: JAX asks each process for the rows of its own devices alone."""
        chosen = np.random.default_rng(step).choice(ROWS, BATCH, replace=False)

        def read(index: Any) -> np.ndarray:
            part = self._table[chosen[index[0]]]
            self.rows_read += len(part)
            return part

        return jax.make_array_from_callback((BATCH, INPUTS + 1), rows, read)


def begin(whole: NamedSharding) -> Run:
    """The start of a run: parameters that all devices hold, and a state of which each device holds a part."""
    rng = np.random.default_rng(1)
    shapes = {"first": (INPUTS, WIDTH), "bias": (WIDTH,), "second": (WIDTH,)}
    params = {k: (rng.normal(size=n) / n[0] ** 0.5).astype(np.float32) for k, n in shapes.items()}
    params = jax.device_put(params, whole)
    state = fg.sharding.shard_state(fg.optim.adam_init(params, lr=1e-2), whole.mesh, "data")
    return {"params": params, "state": state, "step": 0}


def loss_of(params: dict[str, Any], table: Any) -> Any:
    """The mean square of what a small network misses."""
    hidden = np.tanh(table[:, :-1] @ params["first"] + params["bias"])
    return np.mean((hidden @ params["second"] - table[:, -1]) ** 2)


def step_of(params: Any, state: Any, table: Any) -> Any:
    """One step on a whole batch, wherever its rows lie."""
    value, grads = fg.value_and_grad(loss_of)(params, table)
    params, state = fg.optim.adam_update(grads, state, params)
    return params, state, value


def train(folder: Path, steps: int, every: int) -> tuple[Run, float, int]:
    """Go on from the latest checkpoint, or begin, until there are as many steps: the run, the loss, the rows read."""
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    data, checkpoints, run = Data(folder), fg.CheckpointDir(folder / "checkpoints"), begin(whole)
    if checkpoints.latest() is not None:
        run = checkpoints.load(like=run)
    compiled, value = fg.jit(step_of, donate_argnums=(0, 1)), np.nan
    for step in range(run["step"], steps):
        params, state, value = compiled(run["params"], run["state"], data.batch(step, rows))
        run = {"params": params, "state": state, "step": step + 1}
        # Each step is waited for, so that the loss of a process is noticed where it happens.
        value = float(value)
        if run["step"] % every == 0 or run["step"] == steps:
            checkpoints.save(run["step"], run)
    return run, value, data.rows_read


def take_part(given: argparse.Namespace) -> None:
    """Be one of the processes."""
    try:
        run, value, rows_read = train(given.folder, given.steps, given.every)
    except Exception as error:
        if jax.process_count() == 1:
            raise
        latest = fg.CheckpointDir(given.folder / "checkpoints").latest()
        print(
            f"process {jax.process_index()} of {jax.process_count()} ends, since another one was lost or this one "
            f"failed ({type(error).__name__}: {str(error).splitlines()[0]}). The latest checkpoint is of step "
            f"{latest}. Start the run again, with any number of processes, and it goes on from there.",
            file=sys.stderr,
            flush=True,
        )
        # Without the farewell that JAX waits for at the exit, which a lost process does not say.
        os._exit(1)
    print(
        f"process {jax.process_index()} of {jax.process_count()}: step {run['step']}, loss {value:.6f}, "
        f"{rows_read} rows read",
        flush=True,
    )


def start_here(given: argparse.Namespace) -> int:
    """Start some processes on this machine, and end them all when one of them is lost."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, __file__, "--folder", str(given.folder), "--coordinator", address]
    command += ["--steps", str(given.steps), "--every", str(given.every), "--processes", str(given.local)]
    running = [subprocess.Popen([*command, "--process", str(i)]) for i in range(given.local)]
    print("started as", *[process.pid for process in running], flush=True)
    try:
        while all(process.poll() in (None, 0) for process in running):
            if all(process.poll() == 0 for process in running):
                return 0
            time.sleep(0.02)
        # A process that notices the loss ends as well, maybe before it is looked at here: all are named.
        lost = {i: process.poll() for i, process in enumerate(running) if process.poll() not in (None, 0)}
        for i, status in lost.items():
            print(f"process {i} ended with status {status}: the others are ended", file=sys.stderr)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and any(process.poll() is None for process in running):
            time.sleep(0.02)
        return 1
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> int:
    """Read the command line; find the other processes, unless there are none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "output" / "distributed")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=50, help="steps from one checkpoint to the next")
    parser.add_argument("--local", type=int, default=0, help="start as many processes on this machine")
    parser.add_argument("--coordinator", help="host:port of the first process, where no scheduler says it")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--process", type=int, help="the number of this one, from 0")
    parser.add_argument("--alone", action="store_true", help="one process, whatever a scheduler says")
    given = parser.parse_args()
    if given.local:
        return start_here(given)
    if not given.alone:
        jax.distributed.initialize(
            given.coordinator, given.processes, given.process, heartbeat_timeout_seconds=PATIENCE
        )
    take_part(given)
    return 0


if __name__ == "__main__":
    sys.exit(main())

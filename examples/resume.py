"""Train, be killed at any moment, and go on to the same parameters, bit for bit, as a run that was never stopped.

Everything that decides what comes next is in the checkpoint: parameters, the optimizer's state, how far the run has
come, and the random key from which the order of the data and the noise are made. Two spirals are told apart by a small
network in plain NumPy. Start it, kill it (Ctrl-C, or ``kill -9``), and start it again:

python examples/resume.py --steps 2000 --every 50
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import funcgrad as fg

POINTS, BATCH, WIDTH = 400, 32, 32

Params = dict[str, Any]


def spirals() -> tuple[np.ndarray, np.ndarray]:
    """Two spirals of points in the plane, and which of them each point is on."""
    turn = np.linspace(0.5, 3.0, POINTS // 2)
    one = turn[:, None] * np.stack([np.cos(2.5 * turn), np.sin(2.5 * turn)], 1) / 3
    return np.concatenate([one, -one]), np.repeat([0.0, 1.0], POINTS // 2)


def begin(seed: int) -> Params:
    """The start of a run."""
    sizes = (2, WIDTH, WIDTH, 1)
    keys = fg.random.split(fg.random.key(seed), len(sizes))
    weights = [
        fg.random.normal(key, (n, m)) * (2 / n) ** 0.5 for key, n, m in zip(keys[1:], sizes, sizes[1:], strict=False)
    ]
    params = [{"weight": weight, "bias": np.zeros(weight.shape[1])} for weight in weights]
    schedule = fg.optim.schedules.cosine(1e-2, 2000)
    return {"params": params, "state": fg.optim.adam_init(params, lr=schedule), "key": keys[0], "step": 0}


def loss_of(params: list[Params], x: Any, label: np.ndarray) -> Any:
    """The mean of log(1 + exp(-margin)) over a batch."""
    *hidden, last = params
    for layer in hidden:
        x = np.tanh(x @ layer["weight"] + layer["bias"])
    margin = (2 * label - 1) * (x @ last["weight"] + last["bias"])[:, 0]
    return np.mean(np.logaddexp(0.0, -margin))


def train(folder: Path, steps: int, every: int, *, quiet: bool = False) -> Params:
    """Go on from the latest checkpoint of a folder, or begin, and take steps until there are as many as asked."""
    checkpoints = fg.CheckpointDir(folder, keep=2)
    run = begin(seed=0)
    if checkpoints.latest() is not None:
        run = checkpoints.load(like=run)
    x, label = spirals()
    gradient = fg.jit(fg.value_and_grad(loss_of), engine="numpy")
    with tqdm(total=steps, initial=run["step"], disable=quiet) as bar:
        while run["step"] < steps:
            # The key of a step depends on the run's key and the step alone, wherever the run was taken up.
            order, noise = fg.random.split(fg.random.fold_in(run["key"], run["step"]))
            rows = fg.random.choice(order, POINTS, (BATCH,), replace=False)
            batch = x[rows] + 0.02 * fg.random.normal(noise, (BATCH, 2))
            value, grads = gradient(run["params"], batch, label[rows])
            params, state = fg.optim.adam_update(grads, run["state"], run["params"])
            run = {"params": params, "state": state, "key": run["key"], "step": run["step"] + 1}
            if run["step"] % every == 0 or run["step"] == steps:
                checkpoints.save(run["step"], run)
                bar.set_postfix(loss=f"{float(value):.3f}")
            bar.update()
    return run


def main() -> None:
    """Read the command line, and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "output" / "resume")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=50, help="steps from one checkpoint to the next")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    given = parser.parse_args()
    run = train(given.folder, given.steps, given.every, quiet=given.quiet)
    x, label = spirals()
    print(f"step {run['step']}, loss {float(loss_of(run['params'], x, label)):.4f}")


if __name__ == "__main__":
    main()

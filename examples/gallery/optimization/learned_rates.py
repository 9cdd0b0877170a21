r"""
A schedule of learning rates, learned
=====================================

A training run is a function: hyperparameters in, final loss out. Here all of it, sixty
steps of SGD with momentum on handwritten digits, is differentiated by the learning rate
of each step and by the momentum, and these are trained in turn (Maclaurin, Duvenaud and
Adams, 2015). What comes out is a schedule that nobody designed.

What one learns: ``fg.sgd_update`` is pure, so ``fg.grad`` goes through it; schedules as
data; a gradient of gradients, compiled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import funcgrad as fg
from funcgrad.optim import adam_init, adam_update

images, labels = load_digits(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(labels))
x, labels = images[rows] / 16, labels[rows]
train_x, train_labels = x[:1200], labels[:1200]
test_x, test_labels = x[1200:], labels[1200:]
STEPS, BATCH = 60, 100

# %%
# A run, as a function of its hyperparameters
# -------------------------------------------
# The model is a softmax regression, and the run a scan over batches. The learning rate
# of a step arrives with its batch.


def initial(rng):
    return {"weight": 0.1 * rng.normal(size=(64, 10)), "bias": np.zeros(10)}


def loss(params, x, labels):
    return fg.nn.cross_entropy(x @ params["weight"] + params["bias"], labels)


def train(hyper, params, batches):
    state = fg.sgd_init(params, lr=0.1, momentum=1 / (1 + np.exp(-hyper["momentum"])))

    def step(carry, given):
        params, state = carry
        log_lr, x, labels = given
        value, grads = fg.value_and_grad(loss)(params, x, labels)
        return fg.sgd_update(grads, state.replace(lr=np.exp(log_lr)), params), value

    (params, _), values = fg.scan(step, (params, state), (hyper["log_lr"], *batches))
    return params, values


def end(hyper, params, batches):
    params, values = train(hyper, params, batches)
    return loss(params, train_x, train_labels), values


# %%
# Differences agree
# -----------------
# The derivative by one learning rate in the middle, through the twenty steps that
# follow.

rng = np.random.default_rng(1)


def draw():
    rows = rng.permutation(len(train_x) * 5)[: STEPS * BATCH].reshape(
        STEPS, BATCH
    ) % len(train_x)
    return initial(rng), (train_x[rows], train_labels[rows])


hyper = {"log_lr": np.full(STEPS, np.log(0.1)), "momentum": np.array(0.0)}
slopes = fg.jit(fg.value_and_grad(end, has_aux=True))
params, batches = draw()
(_, first), slope = slopes(hyper, params, batches)
moved = [
    {**hyper, "log_lr": hyper["log_lr"] + h * np.eye(STEPS)[40]} for h in (-1e-4, 1e-4)
]
low, high = (slopes(each, params, batches)[0][0] for each in moved)
print(f"derivative {slope['log_lr'][40]:.6e}, by differences {(high - low) / 2e-4:.6e}")
np.testing.assert_allclose(slope["log_lr"][40], (high - low) / 2e-4, rtol=1e-4)

# %%
# Training the training
# ---------------------
# Each outer step sees another start and another order of the digits, so that what is
# learned is a schedule, not a run.

state = adam_init(hyper, lr=fg.optim.schedules.cosine(0.1, 150))
history = [hyper]
with tqdm(range(150), desc="learning to learn") as progress:
    for _ in progress:
        (value, _), slope = slopes(hyper, *draw())
        # Some runs are steep in their rates; their direction is enough.
        slope = fg.optim.clip_by_global_norm(slope, 0.1)
        hyper, state = adam_update(slope, state, hyper)
        history.append(hyper)
        progress.set_postfix(loss=f"{float(value):.4f}")

# %%
# Is it better than the best constant rate?
# -----------------------------------------
# All constant rates and momenta of a grid are run as one batch; then the best of them
# and the learned schedule train from starts that neither has seen.

rates, momenta = np.geomspace(0.03, 5.0, 12), np.array([0.0, 0.5, 0.8, 0.9])
grid = {
    "log_lr": np.log(np.repeat(rates, 4))[:, None] * np.ones(STEPS),
    "momentum": np.tile(np.log(momenta + 1e-9) - np.log1p(-momenta), 12),
}
sweep = fg.jit(
    fg.vmap(
        lambda hyper, params, batches: end(hyper, params, batches)[0], (0, None, None)
    )
)
best = int(np.argmin(np.mean([sweep(grid, *draw()) for _ in range(3)], axis=0)))
constant = fg.tree.map(lambda leaf: leaf[best], grid)
print(
    f"best constant rate {np.exp(constant['log_lr'][0]):.3f}, "
    f"momentum {momenta[best % 4]:.1f}"
)


def judge(hyper, params, batches):
    params, _ = train(hyper, params, batches)
    logits = test_x @ params["weight"] + params["bias"]
    return loss(params, train_x, train_labels), np.mean(
        np.argmax(logits, axis=1) == test_labels
    )


judge = fg.jit(judge)
draws = [draw() for _ in range(10)]
runs = {"best constant": constant, "learned": hyper}
losses, accuracies = {}, {}
for name, each in runs.items():
    results = [judge(each, *given) for given in draws]
    losses[name], accuracies[name] = np.array(results).T
    print(
        f"{name:>14}: loss {losses[name].mean():.4f}, "
        f"{100 * accuracies[name].mean():.1f} % right on digits not seen"
    )
assert losses["learned"].mean() < losses["best constant"].mean()

# %%
# The schedule as it was learned, and runs with it.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for which, each in enumerate(history):
    if which % 8 == 0:
        left.plot(
            np.exp(each["log_lr"]),
            color=plt.get_cmap("viridis_r")(which / len(history)),
            linewidth=0.9,
        )
left.axhline(
    np.exp(constant["log_lr"][0]), color="C1", linestyle=":", label="best constant rate"
)
sigmoid = 1 / (1 + np.exp(-hyper["momentum"]))
left.set(
    yscale="log",
    xlabel="step",
    ylabel="learning rate",
    title=f"The schedule, from light to dark; momentum {sigmoid:.2f}",
)
left.legend()
right.plot(
    [0, 1], [losses["best constant"], losses["learned"]], color="0.8", linewidth=0.8
)
for place, name in enumerate(runs):
    right.plot(
        np.full(len(draws), place),
        losses[name],
        "o",
        color=f"C{1 - place}",
        markersize=5,
    )
right.set(xticks=[0, 1], xticklabels=list(runs), xlim=(-0.5, 1.5), ylim=(0, None))
right.set(ylabel="loss on 1,200 digits after the run", title="Ten runs each")
plt.show()

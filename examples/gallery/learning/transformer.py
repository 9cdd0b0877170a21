r"""
A small transformer reads the Python manual
===========================================

Python comes with its own manual, half a million letters in ``pydoc_data``. A
transformer with two blocks learns in a few hundred steps to continue it, letter by
letter: first spaces and words, then grammar. All of it is functions of arrays, fifty
lines of them.

What one learns: attention in plain NumPy, AdamW with warm-up and clipped gradients, the
whole step compiled; a derivative as a proof that nobody looks ahead.
"""

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

import funcgrad as fg
from funcgrad.optim import adamw_init, adamw_update, clip_by_global_norm, schedules

text = "\n".join(topics[name] for name in sorted(topics))
letters = sorted(set(text))
codes = np.array([letters.index(letter) for letter in text], np.int32)
split = int(0.9 * len(codes))
train, unseen = codes[:split], codes[split:]
LENGTH, BATCH, STEPS, WIDTH, HEADS, BLOCKS = 64, 24, 500, 64, 4, 2
rng = np.random.default_rng(0)

# %%
# The model
# ---------
# Each letter looks back at those before it (Vaswani and others, 2017), with the
# normalization in front of each part, as GPT-2 has it.


def matrix(*shape):
    return (rng.normal(size=shape) * shape[0] ** -0.5).astype(np.float32)


def block():
    return {
        "look": matrix(WIDTH, 3 * WIDTH),
        "join": matrix(WIDTH, WIDTH),
        "wide": matrix(WIDTH, 4 * WIDTH),
        "back": matrix(4 * WIDTH, WIDTH),
    }


params = {
    "letters": 0.1 * matrix(len(letters), WIDTH) * len(letters) ** 0.5,
    "places": 0.1 * matrix(LENGTH, WIDTH) * LENGTH**0.5,
    "blocks": [block() for _ in range(BLOCKS)],
    "out": matrix(WIDTH, len(letters)),
}


def normalized(x):
    mean = np.mean(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5)


def look_back(x, look):
    """Return the attention weights and the weighted values."""
    batch, length, _ = x.shape
    heads = (x @ look).reshape(batch, length, 3, HEADS, WIDTH // HEADS)
    queries, keys, values = (heads[:, :, k].swapaxes(1, 2) for k in range(3))
    scores = queries @ keys.swapaxes(-1, -2) / (WIDTH // HEADS) ** 0.5
    later = np.triu(np.ones((length, length), bool), 1)
    weights = fg.nn.softmax(np.where(later, -1e9, scores), axis=-1)
    return weights, (weights @ values).swapaxes(1, 2).reshape(batch, length, WIDTH)


def logits_of(params, ids):
    x = params["letters"][ids] + params["places"][: ids.shape[1]]
    for each in params["blocks"]:
        x = x + look_back(normalized(x), each["look"])[1] @ each["join"]
        x = x + fg.nn.gelu(normalized(x) @ each["wide"]) @ each["back"]
    return normalized(x) @ params["out"]


def loss(params, ids):
    logits = logits_of(params, ids[:, :-1])
    return fg.nn.cross_entropy(logits.reshape(-1, len(letters)), ids[:, 1:].reshape(-1))


# %%
# Nobody looks ahead
# ------------------
# What follows must not tell what comes next. Whether that is so, derivatives show:
# those of the guesses at a place by the letters behind it are zero, every one of them.

ids = unseen[None, :LENGTH]
start = {**params, "letters": params["letters"][ids[0]]}
at_20 = fg.grad(lambda p: np.sum(logits_of(p, np.arange(LENGTH)[None])[0, 20] ** 2))
reach = np.abs(at_20(start)["letters"]).sum(axis=1)
assert np.all(reach[:21] > 0)
assert np.all(reach[21:] == 0)

# %%
# Training
# --------


def excerpts(codes, count):
    starts = rng.integers(0, len(codes) - LENGTH - 1, count)
    return codes[starts[:, None] + np.arange(LENGTH + 1)]


lr = schedules.warmup_cosine(0.0, 8e-3, 40, STEPS, 2e-4)
state = adamw_init(params, lr=lr, weight_decay=0.01)


@fg.jit(donate_argnums=(0, 1))
def step(params, state, ids):
    value, grads = fg.value_and_grad(loss)(params, ids)
    params, state = adamw_update(clip_by_global_norm(grads, 1.0), state, params)
    return params, state, value


values = []
for _ in tqdm(range(STEPS), desc="reading"):
    params, state, value = step(params, state, excerpts(train, BATCH))
    values.append(value)
test_value = float(fg.jit(loss)(params, excerpts(unseen, 300)))

# %%
# What counting achieves
# ----------------------
# Tables of how often letters, pairs and triples occur in the same text are what has to
# be beaten on the part that nobody has read. Each table falls back on the one before.

size = len(letters)
three = np.zeros((size, size, size))
np.add.at(three, (train[:-2], train[1:-1], train[2:]), 1)
two, one = three.sum(axis=0), three.sum(axis=(0, 1))
one = (one + 1) / (one + 1).sum()
two = (two + 2 * one) / (two.sum(axis=-1, keepdims=True) + 2)
three = (three + 2 * two) / (three.sum(axis=-1, keepdims=True) + 2)
a, b, c = unseen[:-2], unseen[1:-1], unseen[2:]
counted = {"letters": one[c], "pairs": two[b, c], "triples": three[a, b, c]}
counted = {name: -np.mean(np.log(p)) for name, p in counted.items()}
print(", ".join(f"{name} {nats:.3f}" for name, nats in counted.items()), "nats")
print(f"the transformer: {test_value:.3f} nats a letter")
assert test_value < counted["triples"]

# %%
# How it continues
# ----------------

params = fg.tree.map(np.array, params)
guess = fg.jit(lambda params, ids: fg.nn.softmax(logits_of(params, ids)[0, -1] / 0.7))
written = list(unseen[:LENGTH])
for _ in range(300):
    p = np.asarray(guess(params, np.array(written[-LENGTH:])[None]), float)
    written.append(rng.choice(size, p=p / p.sum()))
prompt, answer = "".join(letters[k] for k in unseen[:LENGTH]), written[LENGTH:]
print(f"[{prompt}]" + "".join(letters[k] for k in answer))

# %%
# The loss on its way past the tables; and where four heads of the first block look.

figure = plt.figure(figsize=(11, 4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.3))
axes = left.subplots()
axes.plot(values, color="0.8", linewidth=0.7)
axes.plot(np.arange(9, STEPS - 10), np.convolve(values, np.ones(20) / 20, mode="valid"))
for name, color in zip(counted, ["C3", "C2", "C1"], strict=True):
    axes.axhline(counted[name], color=color, linestyle=":", label=f"table of {name}")
axes.plot(STEPS, test_value, "o", color="C0", label="on what nobody has read")
axes.set(xlabel="step", ylabel="nats a letter", ylim=(1.4, 4), title="Reading")
axes.legend()
snippet = unseen[None, 200 : 200 + LENGTH // 2]
x = params["letters"][snippet] + params["places"][: snippet.shape[1]]
weights = look_back(normalized(x), params["blocks"][0]["look"])[0][0]
ticks = np.arange(snippet.shape[1])
names = ["".join(letters[k].replace("\n", "↵")) for k in snippet[0]]
for head, axes in enumerate(right.subplots(2, 2).flat):
    axes.imshow(weights[head] ** 0.5, cmap="magma")
    axes.set_xticks(ticks, names, fontsize=5)
    axes.set_yticks(ticks, names, fontsize=5)
    axes.tick_params(length=0, pad=1)
    axes.set_title(f"head {head + 1} looks at", fontsize=8, weight="normal")
plt.show()

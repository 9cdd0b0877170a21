r"""
Clusters of atoms: energies, shapes and vibrations
==================================================

Argon atoms attract one another from afar and repel when near (Lennard-Jones, 1924).
Which shape do thirteen of them take? Two hundred heaps of atoms cool down side by side
in one compiled program, and most end in other valleys; the best is the icosahedron. The
Hessian there, polished by Newton's method, gives the notes at which it would ring.

What one learns: a potential in plain NumPy, ``fg.vmap`` over whole runs of Adam,
``fg.hessian`` as a matrix of forces.
"""

import matplotlib.pyplot as plt
import numpy as np

import funcgrad as fg
from funcgrad.optim import adam_init, adam_update, schedules

ATOMS = 13

# %%
# The energy
# ----------
# The unit of length is the distance at which two atoms do not feel each other, the unit
# of energy the depth of a pair.


def energy(x):
    atoms = x.reshape(ATOMS, 3)
    first, second = np.triu_indices(ATOMS, 1)
    inverse = 1 / np.sum((atoms[first] - atoms[second]) ** 2, axis=1) ** 3
    return 4 * np.sum(inverse**2 - inverse)


# %%
# Two hundred heaps
# -----------------
# A heap cools by Adam with a learning rate that falls to zero. Nothing in a run is
# changed to run them all at once.

STEPS = 1500


def cool(start):
    def step(carry, _):
        x, state = carry
        # The forces are huge if atoms start on top of each other.
        force = np.clip(fg.grad(energy)(x), -100, 100)
        return adam_update(force, state, x), energy(x)

    state = adam_init(start, lr=schedules.cosine(0.05, STEPS))
    (x, _), energies = fg.scan(step, (start, state), None, length=STEPS)
    return x, energies


starts = np.random.default_rng(0).normal(size=(200, 3 * ATOMS))
ends, energies = map(np.asarray, fg.jit(fg.vmap(cool))(starts))
heights = fg.vmap(energy)(ends)
print(f"lowest energies: {np.unique(heights.round(3))[:5]}")

# %%
# The best, and its notes
# -----------------------
# Six of the Hessian's eigenvalues are zero: moving and turning the cluster costs
# nothing. Newton's steps leave these directions alone. The energy is the one in the
# Cambridge Cluster Database (Hoare and Pal, 1971).

x = ends[np.argmin(heights)]
for _ in range(5):
    x = x - np.linalg.pinv(fg.hessian(energy)(x), rcond=1e-6) @ fg.grad(energy)(x)
stiffness, modes = np.linalg.eigh(fg.hessian(energy)(x))
print(f"energy {energy(x):.6f}, largest force {np.abs(fg.grad(energy)(x)).max():.0e}")
np.testing.assert_allclose(energy(x), -44.326801, atol=1e-6)
np.testing.assert_allclose(stiffness[:6], 0, atol=1e-8)

# %%
# An icosahedron's notes come in groups of one, three, four and five of one pitch, as
# its symmetry demands.

pitch = np.sqrt(stiffness[6:])
groups = np.split(pitch, np.flatnonzero(np.diff(pitch) > 1e-6) + 1)
print("notes:", ", ".join(f"{len(group)} x {group[0]:.3f}" for group in groups))
assert {len(group) for group in groups} <= {1, 3, 4, 5}

figure = plt.figure(figsize=(11, 3.7), layout="constrained")
left, middle, right = (
    figure.add_subplot(1, 3, k, projection="3d" if k == 2 else None) for k in (1, 2, 3)
)
left.plot(energies[::2].T, color="C0", alpha=0.2, linewidth=0.5)
left.plot(energies[np.argmin(heights)], color="C1", label="the best of them")
left.axhline(
    energy(x), color="0.3", linewidth=1, linestyle=":", label="the icosahedron"
)
left.set(
    xscale="log",
    ylim=(-46, 5),
    xlim=(10, STEPS),
    xlabel="step",
    ylabel="energy (depths of a pair)",
    title="Heaps cool",
)
left.legend(loc="upper right")
atoms = x.reshape(ATOMS, 3)
gaps = np.linalg.norm(atoms[:, None] - atoms, axis=-1)
for i, j in np.argwhere(np.triu(gaps < 1.3, 1)):
    middle.plot(*atoms[[i, j]].T, color="0.6", linewidth=1)
middle.scatter(
    *atoms.T,
    s=260,
    c=np.arange(ATOMS) == np.argmin(gaps.sum(axis=0)),
    cmap="coolwarm",
    depthshade=True,
)
middle.set(title="Thirteen atoms", box_aspect=(1, 1, 1))
middle.set_axis_off()
right.vlines(
    [group[0] for group in groups],
    0,
    [len(group) for group in groups],
    color="C0",
    linewidth=2,
)
right.plot([group[0] for group in groups], [len(group) for group in groups], "o")
right.set(
    xlabel="pitch (radians per unit of time)",
    ylabel="notes of this pitch",
    ylim=(0, None),
    title="How it rings",
)
plt.show()

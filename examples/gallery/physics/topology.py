r"""
Where the steel should be: topology optimization
================================================

A beam is fixed at the wall and carries a load at its far corner. Half of the space may
be filled with steel: which half bends least? Finite elements by SciPy's sparse solver
answer how much it bends; a custom rule tells the differentiation what the solver's
derivative is, and bars and knots grow by themselves (Bendsøe and Sigmund, 2003).

What one learns: ``fg.custom_vjp`` around a sparse solver that cannot be traced,
``fg.call_numpy``, ``fg.check_grads``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import splu
from tqdm import tqdm

import funcgrad as fg
from funcgrad.scipy.ndimage import convolve

ROWS, COLUMNS = 24, 72

# %%
# Finite elements
# ---------------
# A square of elastic material, of stiffness 1 and Poisson's ratio 0.3, has eight
# displacements; its matrix is that of Andreassen and others (2011). Displacements of
# nodes are numbered column by column.

k = np.array(
    [1 / 2 - 0.3 / 6, 1 / 8 + 0.3 / 8, -1 / 4 - 0.3 / 12, -1 / 8 + 3 * 0.3 / 8]
)
k = np.append(k, [-1 / 4 + 0.3 / 12, -1 / 8 - 0.3 / 8, 0.3 / 6, 1 / 8 - 3 * 0.3 / 8])
order = [
    "01234567",
    "10765432",
    "27056341",
    "36507214",
    "45670123",
    "54321076",
    "63412705",
    "72143650",
]
ELEMENT = np.array([[k[int(digit)] for digit in row] for row in order]) / (1 - 0.3**2)
corner = (np.arange(COLUMNS)[None, :] * (ROWS + 1) + np.arange(ROWS)[:, None]).ravel()
nodes = np.stack([corner + 1, corner + ROWS + 2, corner + ROWS + 1, corner], axis=1)
FREEDOMS = np.stack([2 * nodes, 2 * nodes + 1], axis=2).reshape(-1, 8)
LOAD = np.zeros(2 * (ROWS + 1) * (COLUMNS + 1))
LOAD[-1] = -1.0
FREE = np.arange(2 * (ROWS + 1), len(LOAD))


def solve(stiffness):
    """The displacements under the load, for these stiffnesses: plain SciPy."""
    values = (stiffness[:, None, None] * ELEMENT).ravel()
    places = np.repeat(FREEDOMS, 8, axis=1).ravel(), np.tile(FREEDOMS, (1, 8)).ravel()
    matrix = coo_array((values, places), shape=(len(LOAD), len(LOAD))).tocsc()
    found = np.zeros(len(LOAD))
    found[FREE] = splu(matrix[FREE][:, FREE]).solve(LOAD[FREE])
    return found


@fg.custom_vjp
def bending(stiffness):
    """The work of the load, through a solver that no tracer can look into."""
    return LOAD @ fg.call_numpy(solve, LOAD, stiffness)


def forward(stiffness):
    displacement = fg.call_numpy(solve, LOAD, stiffness)
    return LOAD @ displacement, displacement[FREEDOMS]


def backward(displacement, bar):
    # The load is fixed, so the work falls by what each element holds.
    return (-bar * np.einsum("ni,ij,nj->n", displacement, ELEMENT, displacement),)


bending.defvjp(forward, backward)

# %%
# From densities to stiffness
# ---------------------------
# Half a density is worth less than half the steel, so that elements become full or
# empty; and densities are averages over neighbours, so that bars have a thickness.

r = np.hypot(*np.mgrid[-2:3, -2:3])
KERNEL = np.maximum(0, 2.2 - r) / np.maximum(0, 2.2 - r).sum()


def material(design):
    return convolve(design, KERNEL, mode="reflect")


def loss(design):
    return bending(1e-6 + np.ravel(material(design)) ** 3)


# %%
# Is it right?
# ------------
# A full beam bends as Timoshenko (1921) says, by bending and shear; up to what the load
# on a single node digs in; and the rule agrees with differences.

fg.check_grads(bending, (np.linspace(0.5, 1, ROWS * COLUMNS),), order=1, modes=("rev",))
theory = COLUMNS**3 / (3 * ROWS**3 / 12) + 6 / 5 * COLUMNS * 2.6 / ROWS
full = loss(np.ones((ROWS, COLUMNS)))
print(
    f"a full beam bends by {full:.1f}, Timoshenko's by {theory:.1f} (load / stiffness)"
)
np.testing.assert_allclose(full, theory, rtol=0.06)

# %%
# Growing the beam
# ----------------
# Each element gets steel by how much more it would help than a price, and the price is
# such that half is filled: the optimality criteria of Bendsøe (1995). A step moves a
# density by at most 0.2.

STEPS = 60
design, heights, kept = np.full((ROWS, COLUMNS), 0.5), [], {}
value_and_grad = fg.value_and_grad(loss)
volume = fg.grad(lambda design: np.sum(material(design)))(design)
for step in tqdm(range(STEPS), desc="growing"):
    height, slope = value_and_grad(design)
    heights.append(height)
    low, high = 0.0, 1e9
    while high - low > 1e-6 * high:
        price = (low + high) / 2
        wanted = design * np.sqrt(-slope / volume / price)
        new = np.clip(np.clip(wanted, design - 0.2, design + 0.2), 0, 1)
        low, high = (price, high) if material(new).mean() > 0.5 else (low, price)
    design = new
    if step in (0, 5, 15, STEPS - 1):
        kept[step + 1] = material(design)
print(
    "half the steel in the right place bends by "
    f"{heights[-1]:.1f}, spread evenly by {heights[0]:.1f}"
)
assert heights[-1] < 0.35 * heights[0]

# %%
# The beam grows.

figure = plt.figure(figsize=(11, 4.2), layout="constrained")
axes = figure.subplot_mosaic(
    [["a", "b", "curve"], ["c", "d", "curve"]], width_ratios=(1.5, 1.5, 1)
)
for name, (step, density) in zip("abcd", kept.items(), strict=True):
    axes[name].imshow(density, cmap="Greys", vmin=0, vmax=1)
    axes[name].plot([-0.5, -0.5], [-0.5, ROWS - 0.5], color="C0", linewidth=5)
    axes[name].annotate(
        "",
        (COLUMNS - 1, ROWS + 5),
        (COLUMNS - 1, ROWS - 1),
        arrowprops={"arrowstyle": "->", "color": "C1", "lw": 2},
        annotation_clip=False,
    )
    axes[name].set(title=f"step {step}", xticks=[], yticks=[])
    axes[name].spines[:].set_visible(False)
axes["curve"].semilogy(heights)
axes["curve"].axhline(full, color="0.6", linestyle=":", label="all of it steel")
axes["curve"].set(
    xlabel="step", ylabel="bending (load / stiffness)", title="How far it bends"
)
axes["curve"].legend()
plt.show()

r"""
Design of a photographic lens
=============================

Three lenses of two kinds of glass make a camera's objective that is sharp over forty
degrees: the Cooke triplet (Taylor, 1893). A ray tracer is a loop over surfaces with
Snell's law in it. Differentiated, it gives SciPy's least squares the exact Jacobian,
and a rough triplet turns into a sharp one.

What one learns: ``scipy.optimize.least_squares`` with a Jacobian from forward mode,
``fg.jacfwd`` of a geometric program.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import funcgrad as fg

# %%
# The tracer
# ----------
# Lengths are in millimetres. Indices of the glasses SK16 and F2 (Schott) are those of
# blue, green and red light (486, 588 and 656 nm). A lens is six curvatures and the
# distances behind each surface.

AIR, SK16, F2 = (
    np.ones(3),
    np.array([1.62756, 1.62041, 1.61727]),
    np.array([1.63208, 1.62004, 1.61503]),
)
BEHIND = [SK16, AIR, F2, AIR, SK16, AIR]
AXIS = np.array([0.0, 0.0, 1.0])
COLORS = ["tab:blue", "tab:green", "tab:red"]


def trace(lens, points, directions, color):
    """Return the points at which rays meet each surface and the film."""
    curvatures, gaps = lens[:6], lens[6:]
    index, z, path = 1.0, 0.0, [points]
    for c, gap, behind in zip(curvatures, gaps, BEHIND, strict=True):
        # The point at which a ray meets a sphere whose vertex is at the origin.
        b = directions[:, 2] - c * np.sum(points * directions, axis=1)
        a = c * np.sum(points**2, axis=1) - 2 * points[:, 2]
        points = points + (a / (b + np.sqrt(b**2 - c * a)))[:, None] * directions
        normal = AXIS - c * points
        # Snell's law as vectors.
        ratio = index / behind[color]
        cosine = np.sum(directions * normal, axis=1)
        after = np.sqrt(1 - ratio**2 * (1 - cosine**2))
        directions = ratio * directions + (after - ratio * cosine)[:, None] * normal
        path.append(points + z * AXIS)
        index, z = behind[color], z + gap
        points = points - gap * AXIS
    film = points - (points[:, 2] / directions[:, 2])[:, None] * directions
    return [*path, film + z * AXIS]


def beam(angle, radius=4.0, rings=4):
    """Parallel rays that fill the entrance pupil, which lies behind the first lens."""
    r = np.concatenate(
        [[0.0]] + [np.full(6 * k, radius * k / rings) for k in range(1, rings + 1)]
    )
    turn = np.concatenate(
        [[0.0]] + [2 * np.pi * np.arange(6 * k) / (6 * k) for k in range(1, rings + 1)]
    )
    tilt = np.deg2rad(angle)
    direction = np.array([0, np.sin(tilt), np.cos(tilt)])
    pupil = np.stack([r * np.cos(turn), r * np.sin(turn), np.zeros_like(r)], axis=1)
    return pupil - 11.5 * np.tan(tilt) * np.array([0, 1, 0]), np.tile(
        direction, (len(r), 1)
    )


# %%
# What a good lens is
# -------------------
# All rays of a point meet on the film, whatever their colour, where a lens of 50 mm
# without errors has them.

ANGLES = (0.0, 14.0, 20.0)


def focal_length(lens):
    ray = np.array([[0.0, 1e-4, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    *_, last, film = trace(lens, *ray, 1)
    return -1e-4 * (film - last)[0, 2] / (film - last)[0, 1]


def spots(lens, angle):
    return np.stack([trace(lens, *beam(angle), color)[-1][:, :2] for color in range(3)])


def errors(lens):
    found = [50 * (focal_length(lens) / 50 - 1)]
    for angle in ANGLES:
        where = spots(lens, angle)
        found.append(np.ravel(where - np.mean(where, axis=(0, 1))) / 10)
    return np.concatenate([np.ravel(each) for each in found])


# %%
# From a rough triplet
# --------------------
# The thicknesses of glass stay as they are; six curvatures, two gaps of air and the
# place of the film are free.

rough = np.array(
    [1 / 25, 0, -1 / 25, 1 / 22, 1 / 90, -1 / 20, 3.3, 6.0, 1.0, 4.75, 3.0, 42.0]
)
free = np.array([0, 1, 2, 3, 4, 5, 7, 9, 11])


def complete(x):
    lens = np.zeros(len(rough), like=x)
    lens[:] = rough
    lens[free] = x
    return lens


residuals = fg.jit(lambda x: errors(complete(x)), engine="numpy")
jacobian = fg.jit(fg.jacfwd(lambda x: errors(complete(x))), engine="numpy")
found = least_squares(residuals, rough[free], jac=jacobian, x_scale="jac", max_nfev=300)
lens = complete(found.x)


def sharpness(lens):
    off = [
        where - where.mean(axis=(0, 1))
        for where in (spots(lens, angle) for angle in ANGLES)
    ]
    return [1000 * np.sqrt(np.mean(np.sum(each**2, axis=-1))) for each in off]


for name, each in [("rough", rough), ("found", lens)]:
    sizes = ", ".join(f"{size:.1f}" for size in sharpness(each))
    print(
        f"{name}: focal length {focal_length(each):.2f} "
        f"mm, mean radii of the spots {sizes} um"
    )
print(f"{found.nfev} traces; radii {np.round(1 / lens[:6], 2)} mm")
assert max(sharpness(lens)) < 15

# %%
# The focal length by matrices
# ----------------------------
# For rays near the axis a lens is a product of matrices of two by two, one for each
# surface and each gap.

system, index = np.eye(2), 1.0
for c, gap, behind in zip(lens[:6], lens[6:], BEHIND, strict=True):
    system = (
        np.array([[1, 0], [c * (index - behind[1]) / behind[1], index / behind[1]]])
        @ system
    )
    system, index = np.array([[1, gap], [0, 1]]) @ system, behind[1]
print(f"focal length by matrices: {-1 / system[1, 0]:.4f} mm")
np.testing.assert_allclose(focal_length(lens), -1 / system[1, 0], rtol=1e-6)

# %%
# The lens with its rays, and what becomes of a point.

figure = plt.figure(figsize=(11, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1))
axes = left.subplots()
for angle, shade in zip(ANGLES, ["C0", "C2", "C1"], strict=True):
    points, directions = beam(angle)
    across = np.flatnonzero(np.abs(points[:, 0]) < 1e-9)
    path = np.array(trace(lens, points[across], directions[across], 1))
    path = np.concatenate([path[:1] - 6 * directions[across], path[1:]])
    axes.plot(path[..., 2], path[..., 1], color=shade, linewidth=0.6)
vertex = np.concatenate([[0], np.cumsum(lens[6:])])
for first in (0, 2, 4):
    half = (9.0, 5.5, 7.0)[first // 2]
    y = np.linspace(-half, half, 50)
    front, back = (
        vertex[k] + lens[k] * y**2 / (1 + np.sqrt(1 - lens[k] ** 2 * y**2))
        for k in (first, first + 1)
    )
    outline = np.concatenate([front, back[::-1]]), np.concatenate([y, y[::-1]])
    axes.fill(
        *outline, color="lightsteelblue", alpha=0.6, edgecolor="0.3", linewidth=0.8
    )
axes.axvline(vertex[-1], color="0.3", linewidth=1.5)
axes.set(
    aspect="equal",
    xlabel="along the axis (mm)",
    ylabel="height (mm)",
    title="A triplet of 50 mm, f/6.2",
)
panels = right.subplots(2, 3)
for row, (each, extent, name) in enumerate(
    [(rough, 2000, "rough"), (lens, 50, "found")]
):
    for axes, angle in zip(panels[row], ANGLES, strict=True):
        where = 1000 * spots(each, angle)
        where -= where.mean(axis=(0, 1))
        for color, spot in zip(COLORS, where, strict=True):
            axes.plot(*spot.T, ".", color=color, markersize=1.5)
        axes.set(
            aspect="equal",
            xlim=(-extent, extent),
            ylim=(-extent, extent),
            xticks=[-extent, extent],
            yticks=[],
        )
        axes.set_title(f"{name}, {angle:.0f}°", fontsize=9, weight="normal")
panels[1, 1].set(xlabel="across the film (µm)")
plt.show()

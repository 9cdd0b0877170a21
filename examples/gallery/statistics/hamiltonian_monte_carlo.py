r"""
Hamiltonian Monte Carlo: eight schools
======================================

Eight schools tried the same coaching for a test, and each reports an effect with its
error (Rubin, 1981). How much do the schools differ? A hierarchical model says, and
Hamiltonian Monte Carlo draws from its posterior: a particle is pushed through the
parameters by the gradient of the log density, which is all that the method asks of a
model.

What one learns: a sampler in plain NumPy with ``np.random``, a gradient that
``fg.vmap`` gives for many chains at once, ``scipy.stats`` by its own name inside of
``fg.intercept``.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.stats
from tqdm import tqdm

import funcgrad as fg

effect = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
error = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])

# %%
# The model
# ---------
# The schools' true effects are normal around :math:`\mu` with the deviation
# :math:`\tau`, which has a half-Cauchy prior. A particle gets stuck in the narrow end
# of that funnel, so the effects are written as :math:`\theta = \mu + \tau z` and ``z``
# is what moves. ``log_tau`` adds itself, the logarithm of the change of variables.


def log_density(q):
    mu, log_tau, z = q[0], q[1], q[2:]
    tau = np.exp(log_tau)
    log_p = (
        scipy.stats.norm.logpdf(mu, 0, 10)
        + scipy.stats.halfcauchy.logpdf(tau, scale=5)
        + log_tau
    )
    log_p = log_p + np.sum(scipy.stats.norm.logpdf(z))
    return log_p + np.sum(scipy.stats.norm.logpdf(effect, mu + tau * z, error))


with fg.intercept():
    push = fg.jit(fg.vmap(fg.value_and_grad(log_density)), engine="numpy")
    push(np.zeros((200, 10)))

# %%
# The sampler
# -----------
# Two hundred chains side by side are rows of one array. Each step draws a momentum,
# follows the particle for a while by leapfrog steps, and keeps where it arrives with
# the probability that makes the draws exact (Neal, 2011).


def sample(chains, draws, step, leaps, rng):
    q = rng.normal(size=(chains, 10))
    log_p, slope = push(q)
    kept, accepted = np.empty((draws, chains, 10)), 0.0
    for draw in tqdm(range(-draws // 4, draws), desc="drawing", mininterval=0.5):
        momentum = rng.normal(size=q.shape)
        new_q, new_log_p, new_slope, new_momentum = q, log_p, slope, momentum
        for _ in range(leaps):
            halfway = new_momentum + 0.5 * step * new_slope
            new_q = new_q + step * halfway
            new_log_p, new_slope = push(new_q)
            new_momentum = halfway + 0.5 * step * new_slope
        energy = np.sum(momentum**2, axis=1) / 2 - log_p
        new_energy = np.sum(new_momentum**2, axis=1) / 2 - new_log_p
        accept = np.log(rng.random(chains)) < energy - new_energy
        q = np.where(accept[:, None], new_q, q)
        slope = np.where(accept[:, None], new_slope, slope)
        log_p = np.where(accept, new_log_p, log_p)
        if draw >= 0:
            kept[draw] = q
            accepted += np.mean(accept) / draws
    return kept, accepted


draws, accepted = sample(
    chains=200, draws=400, step=0.25, leaps=8, rng=np.random.default_rng(0)
)
mu, tau = draws[..., 0], np.exp(draws[..., 1])
theta = mu[..., None] + tau[..., None] * draws[..., 2:]
between = np.var(tau.mean(axis=0), ddof=1)
r_hat = np.sqrt(1 + between / np.mean(np.var(tau, axis=0, ddof=1)))
print(f"{100 * accepted:.0f} % accepted, split of chains (R hat) of tau: {r_hat:.3f}")
print(f"mu {mu.mean():.2f}, tau {tau.mean():.2f}")

# %%
# The exact answer
# ----------------
# In this model the schools' effects can be integrated out by hand, and the two numbers
# left over a fine grid. Draws and grid agree within a tenth of a point.

grid_mu, grid_tau = np.meshgrid(
    np.linspace(-30, 45, 500), np.geomspace(0.01, 120, 500), indexing="ij"
)
spread = np.sqrt(error**2 + grid_tau[..., None] ** 2)
log_p = (
    scipy.stats.norm.logpdf(grid_mu, 0, 10)
    + scipy.stats.halfcauchy.logpdf(grid_tau, scale=5)
    + np.log(grid_tau)
)
log_p += np.sum(scipy.stats.norm.logpdf(effect, grid_mu[..., None], spread), axis=-1)
p = np.exp(log_p - log_p.max())
p /= p.sum()
pull = grid_tau[..., None] ** 2 / spread**2
exact = np.sum(
    p[..., None] * (grid_mu[..., None] + pull * (effect - grid_mu[..., None])),
    axis=(0, 1),
)
for name, ours, known in [
    ("mu", mu.mean(), np.sum(p * grid_mu)),
    ("tau", tau.mean(), np.sum(p * grid_tau)),
]:
    print(f"{name:>4}: {ours:6.3f} drawn, {known:6.3f} exact")
    assert abs(ours - known) < 0.1
np.testing.assert_allclose(theta.mean(axis=(0, 1)), exact, atol=0.15)

# %%
# The funnel that the particle moves in, seen in the first school's effect; and how the
# schools shrink to their mean.

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11, 3.7), layout="constrained", width_ratios=(1, 1, 1.1)
)
middle.hexbin(
    theta[..., 0].ravel(),
    np.log(tau).ravel(),
    extent=(-20, 50, -4, 4),
    gridsize=45,
    bins="log",
    cmap="Blues",
)
middle.set(
    xlabel="effect in the first school (points)",
    ylabel=r"$\log\tau$",
    title="The funnel",
)
left.plot(
    mu[:100, :1],
    np.log(tau[:100, :1]),
    ".-",
    color="C1",
    linewidth=0.4,
    markersize=3,
    label="a chain",
)
left.contour(grid_mu, np.log(grid_tau), p, levels=6, cmap="Blues", linewidths=1)
left.set(
    xlim=(-12, 25),
    ylim=(-4, 4),
    xlabel=r"$\mu$ (points)",
    ylabel=r"$\log\tau$",
    title="The posterior, exact, and drawn",
)
left.legend()
rows = np.arange(len(effect))
right.errorbar(
    effect,
    rows + 0.15,
    xerr=1.96 * error,
    fmt="o",
    color="0.6",
    markersize=4,
    label="as reported, 95 %",
)
low, high = np.percentile(theta, [2.5, 97.5], axis=(0, 1))
middles = theta.mean(axis=(0, 1))
right.errorbar(
    middles,
    rows - 0.15,
    xerr=[middles - low, high - middles],
    fmt="o",
    markersize=4,
    label="posterior, 95 %",
)
right.plot(
    exact, rows - 0.15, "|", color="C1", markersize=9, zorder=3, label="exact mean"
)
right.set(
    yticks=rows,
    yticklabels="ABCDEFGH",
    ylim=(-0.6, 9.6),
    ylabel="school",
    xlabel="effect (points)",
    title="Eight schools",
)
right.legend(fontsize=7.5)
plt.show()

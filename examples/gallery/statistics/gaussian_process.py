r"""
Gaussian process: carbon dioxide, forecast
==========================================

The air over Mauna Loa is the best known data of Gaussian processes (Rasmussen and
Williams, 2006, section 5.4.3): a trend, a season whose shape drifts, and
irregularities. The kernel is a sum of these, written as NumPy formulas; the ten numbers
in it are found by maximizing the marginal likelihood with its exact gradient. What is
learned from the years before 1984 then forecasts the next eighteen.

What one learns: gradients through a Cholesky factorization, ``scipy.optimize.minimize``
with compiled value and gradient.
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

import funcgrad as fg
from funcgrad.scipy.linalg import cho_solve

monthly = sm.datasets.co2.load_pandas().data["co2"].resample("MS").mean().dropna()
year = monthly.index.year.to_numpy() + (monthly.index.month.to_numpy() - 0.5) / 12
level = monthly.to_numpy()
past = year < 1984
t, offset = year[past], level[past].mean()
y = level[past] - offset

# %%
# The kernel
# ----------
# All parameters are logarithms, so that everything is positive. Amplitudes are in parts
# per million, times in years.

start = {
    "size of the trend": 50.0,
    "its time": 50.0,
    "size of the season": 2.0,
    "time in which it changes": 100.0,
    "its roughness": 1.0,
    "size of the irregularities": 0.5,
    "their time": 1.0,
    "size of the weather": 0.2,
    "its time in years": 0.1,
    "noise": 0.2,
}


def kernel(logs, a, b):
    (
        trend,
        trend_time,
        season,
        drift,
        roughness,
        medium,
        medium_time,
        short,
        short_time,
        _,
    ) = np.exp(logs)
    squared = (a[:, None] - b) ** 2
    wave = np.sin(np.pi * (a[:, None] - b))
    return (
        trend**2 * np.exp(-squared / (2 * trend_time**2))
        + season**2 * np.exp(-squared / (2 * drift**2) - 2 * (wave / roughness) ** 2)
        + medium**2 * np.exp(-squared / (2 * medium_time**2))
        + short**2 * np.exp(-squared / (2 * short_time**2))
    )


def loss(logs):
    covariance = kernel(logs, t, t) + np.exp(2 * logs[-1]) * np.eye(len(t))
    factor = np.linalg.cholesky(covariance)
    fit = y @ cho_solve((factor, True), y)
    return (
        0.5 * fit + np.sum(np.log(np.diag(factor))) + 0.5 * len(t) * np.log(2 * np.pi)
    )


# %%
# Fit
# ---

value_and_grad = fg.jit(fg.value_and_grad(loss), engine="numpy")
first = np.log(list(start.values()))
found = minimize(
    value_and_grad, first, jac=True, method="L-BFGS-B", options={"maxiter": 60}
)
print(
    f"log likelihood {-found.fun:.3f} after {found.nfev} "
    f"values and gradients of {len(t)} points"
)
for name, number in zip(start, np.exp(found.x), strict=True):
    print(f"{name:>26}: {number:.3g}")

# %%
# scikit-learn has derivatives written by hand for each kind of kernel. Its value and
# gradient are the same; where it has variances in the place of amplitudes, their
# logarithms are twice ours.

size = time = np.exp(first)
theirs = (
    size[0] ** 2 * kernels.RBF(time[1])
    + size[2] ** 2
    * kernels.RBF(time[3])
    * kernels.ExpSineSquared(time[4], 1.0, periodicity_bounds="fixed")
    + size[5] ** 2 * kernels.RBF(time[6])
    + size[7] ** 2 * kernels.RBF(time[8])
    + kernels.WhiteKernel(size[9] ** 2)
)
reference = GaussianProcessRegressor(theirs, optimizer=None).fit(t[:, None], y)
expected, slopes = reference.log_marginal_likelihood(
    reference.kernel_.theta, eval_gradient=True
)
value, gradient = value_and_grad(first)
np.testing.assert_allclose(-value, expected, rtol=1e-6)
np.testing.assert_allclose(
    -gradient, slopes * [2, 1, 2, 1, 1, 2, 1, 2, 1, 2], rtol=1e-4
)

# %%
# Forecast
# --------
# The process given the past is a process again. Its 95 % should hold the measurements
# that it has not seen: not each of twenty but one, since what it does not know of the
# trend errs for years on end.

covariance = kernel(found.x, t, t) + np.exp(2 * found.x[-1]) * np.eye(len(t))
factor = np.linalg.cholesky(covariance)
across = kernel(found.x, year, t)
mean = offset + across @ cho_solve((factor, True), y)
alone = kernel(found.x, year[:1], year[:1]) + np.exp(2 * found.x[-1])
spread = np.sqrt(
    alone[0] - np.sum(across.T * cho_solve((factor, True), across.T), axis=0)
)
future = ~past
inside = np.mean(np.abs(level - mean)[future] < 1.96 * spread[future])
print(
    f"forecast of 18 years: off by {np.sqrt(np.mean((level - mean)[future] ** 2)):.2f} "
    f"ppm, {100 * inside:.0f} % inside"
)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.8), layout="constrained", width_ratios=(1.5, 1)
)
for axes in (left, right):
    axes.fill_between(
        year,
        mean - 1.96 * spread,
        mean + 1.96 * spread,
        where=future,
        color="C1",
        alpha=0.25,
        label="95 %",
    )
    axes.plot(year[future], mean[future], color="C1", label="forecast")
    axes.plot(t, level[past], ".", color="C0", markersize=3, label="measured, seen")
    axes.plot(
        year[future],
        level[future],
        ".",
        color="0.3",
        markersize=3,
        label="measured, not seen",
    )
    axes.set(xlabel="year", ylabel="carbon dioxide (ppm)")
left.set(title="Mauna Loa")
left.legend(loc="upper left")
right.set(xlim=(1981.5, 1990), ylim=(336, 360), title="The first years of the forecast")
plt.show()

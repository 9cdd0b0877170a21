"""
Kalman filter: the level of the Nile
====================================

The Nile's yearly volume at Aswan, 1871 to 1970, is the classic example of a *local
level model*: a level that wanders, seen through noise. The Kalman filter gives the
likelihood of the two variances. Here it is written the way textbooks have it, as a loop
that fills arrays, and differentiated as it stands: Newton's method finds the maximum,
the Hessian says how sure it is.

What one learns: writes into arrays under ``fg.grad``, ``fg.hessian`` and ``fg.jit``;
standard errors from second derivatives.
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from scipy.optimize import minimize

import funcgrad as fg

data = sm.datasets.nile.load_pandas().data
year, volume = data["year"].to_numpy(), data["volume"].to_numpy()

# %%
# The filter
# ----------
# The level follows :math:`\mu_{t+1} = \mu_t + \eta_t`, the measurement :math:`y_t =
# \mu_t + \varepsilon_t`. Nothing is known of the first level, so the first measurement
# sets it. ``like=`` is NumPy's own: it makes an array that takes traced values.


def kalman_filter(log_variances, y):
    noise, drift = np.exp(log_variances)
    mean, variance = (
        np.zeros(len(y), like=log_variances),
        np.zeros(len(y), like=log_variances),
    )
    log_likelihood = 0.0
    mean[0], variance[0] = y[0], noise
    for t in range(1, len(y)):
        predicted = variance[t - 1] + drift
        total = predicted + noise
        surprise = y[t] - mean[t - 1]
        gain = predicted / total
        mean[t] = mean[t - 1] + gain * surprise
        variance[t] = (1 - gain) * predicted
        log_likelihood -= 0.5 * (np.log(2 * np.pi * total) + surprise**2 / total)
    return log_likelihood, mean, variance


def loss(log_variances):
    return -kalman_filter(log_variances, volume)[0]


# %%
# Maximum likelihood
# ------------------
# Value, gradient and Hessian are each compiled to a straight NumPy program.

value_and_grad = fg.jit(fg.value_and_grad(loss), engine="numpy")
hessian = fg.jit(fg.hessian(loss), engine="numpy")
start = np.log([np.var(volume), np.var(volume)])
found = minimize(value_and_grad, start, jac=True, hess=hessian, method="trust-exact")
variances = np.exp(found.x)
errors = np.sqrt(np.diag(np.linalg.inv(hessian(found.x))))
for name, log_variance, error in zip(["noise", "drift"], found.x, errors, strict=True):
    low, middle, high = np.exp(log_variance + 1.96 * error * np.array([-1, 0, 1]))
    print(f"variance of the {name}: {middle:8.1f}   95 %: {low:7.1f} to {high:8.1f}")

# %%
# Durbin and Koopman (2012, section 2.10) find 15,099 and 1,469.1. statsmodels' exact
# diffuse filter has the same likelihood.

np.testing.assert_allclose(variances, [15099, 1469.1], rtol=1e-3)
reference = sm.tsa.UnobservedComponents(volume, "local level", use_exact_diffuse=True)
# A diffuse first level leaves out one normal factor; statsmodels counts its constant.
expected = reference.loglike(variances) + 0.5 * np.log(2 * np.pi)
print(
    f"log likelihood: {-found.fun:.4f}, statsmodels' "
    f"{expected:.4f}, after {found.nit} steps"
)
np.testing.assert_allclose(-found.fun, expected, rtol=1e-7)

# %%
# The level, and the likelihood around its maximum.

_, mean, variance = kalman_filter(found.x, volume)
spread = np.sqrt(variance)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.8), layout="constrained", width_ratios=(1.6, 1)
)
left.plot(year, volume, ".", color="0.5", label="measured")
left.plot(year, mean, label="filtered level")
left.fill_between(
    year, mean - 1.96 * spread, mean + 1.96 * spread, alpha=0.2, label="95 %"
)
left.set(
    xlabel="year", ylabel="volume at Aswan (10$^8$ m$^3$)", title="The Nile's level"
)
left.legend()

grid = np.stack(np.meshgrid(np.linspace(8.6, 10.4, 60), np.linspace(4.2, 9.8, 60)))
heights = fg.jit(fg.vmap(fg.vmap(loss)), engine="numpy")(grid.transpose(1, 2, 0))
levels = [0, 0.5, 1, 2, 4, 8, 16, 32]
right.contourf(
    *np.exp(grid),
    heights - found.fun,
    levels=levels,
    cmap="Blues_r",
    norm="symlog",
    extend="max",
)
right.plot(*variances, "+", color="C1", markersize=10, label="maximum")
angle = np.linspace(0, 2 * np.pi, 100)
ellipse = np.linalg.cholesky(np.linalg.inv(hessian(found.x))) @ [
    np.cos(angle),
    np.sin(angle),
]
right.plot(
    *np.exp(found.x[:, None] + np.sqrt(5.991) * ellipse),
    color="C1",
    linewidth=1,
    label="95 % by the Hessian",
)
right.set(
    xscale="log",
    yscale="log",
    xlabel="variance of the noise",
    ylabel="variance of the drift",
    title="Log likelihood",
)
right.legend()
plt.show()

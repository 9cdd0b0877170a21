"""
Maximum likelihood with exact Hessians
======================================

How often do people see a doctor, and does a larger share of the bill keep them away?
The RAND health insurance experiment, 20,190 person-years, has answered with counts that
vary far more than Poisson's. A negative binomial distribution fits them: its likelihood
is one line, ``scipy.optimize.minimize`` gets value, gradient and Hessian, and standard
errors come from the same Hessian.

What one learns: SciPy's distributions by traced parameters, Newton's method in SciPy,
delta-method errors by ``fg.grad``.
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from scipy.optimize import minimize

import funcgrad as fg
from funcgrad.scipy import stats

data = sm.datasets.randhie.load_pandas()
counts = data.endog.to_numpy(float)
names = [*data.exog.columns, "constant"]
x = np.column_stack([data.exog.to_numpy(float), np.ones(len(counts))])

# %%
# The model
# ---------
# The mean is :math:`\mu = \exp(x\beta)` and the variance :math:`\mu + \alpha\mu^2`. The
# last parameter is :math:`\log\alpha`, so that every vector of numbers is allowed.


def loss(params):
    beta, alpha = params[:-1], np.exp(params[-1])
    mean = np.exp(x @ beta)
    return -np.mean(stats.nbinom.logpmf(counts, 1 / alpha, 1 / (1 + alpha * mean)))


# %%
# Newton's method and its neighbours
# ----------------------------------
# Both start at the same point, and both have exact gradients.

value_and_grad = fg.jit(fg.value_and_grad(loss), engine="numpy")
hessian = fg.jit(fg.hessian(loss))
start = np.zeros(len(names) + 1)
start[-2] = np.log(counts.mean())


def fit(method, **options):
    path = [start]
    found = minimize(
        value_and_grad,
        start,
        jac=True,
        method=method,
        callback=lambda p: path.append(p.copy()),
        **options,
    )
    return found, np.array([loss(p) for p in path])


newton, newton_path = fit("trust-exact", hess=hessian, options={"gtol": 1e-10})
quasi, quasi_path = fit("BFGS", options={"gtol": 1e-8})
print(
    f"Newton: {newton.nit} steps. BFGS: {quasi.nit} "
    f"steps, {quasi.nfev} values and gradients."
)

# %%
# statsmodels has the same likelihood, of the same parameters until it is fitted, with
# derivatives written by hand. Its likelihood at our maximum is ours, its slope is zero
# there, and so its standard errors are these.

covariance = np.linalg.inv(len(counts) * np.asarray(hessian(newton.x)))
errors = np.sqrt(np.diag(covariance))
reference = sm.NegativeBinomial(counts, x)
np.testing.assert_allclose(
    -newton.fun * len(counts), reference.loglike(newton.x), rtol=1e-9
)
np.testing.assert_allclose(reference.score(newton.x) / len(counts), 0, atol=1e-8)
np.testing.assert_allclose(
    errors[:-1],
    np.sqrt(np.diag(np.linalg.inv(-reference.hessian(newton.x))))[:-1],
    rtol=1e-6,
)
for name, estimate, error in zip([*names, "log alpha"], newton.x, errors, strict=True):
    print(f"{name:>10} {estimate:8.4f} +- {error:.4f}")

# %%
# A question that has an answer with an error
# -------------------------------------------
# By how much do the expected visits fall from free care to a share of 95 %? The delta
# method needs the gradient of the answer by the parameters, and gets it.

free, shared = x.mean(axis=0), x.mean(axis=0)
free[names.index("lncoins")], shared[names.index("lncoins")] = 0.0, np.log(96)


def fall(params):
    return 1 - np.exp((shared - free) @ params[:-1])


slope = fg.grad(fall)(newton.x)
print(
    f"visits fall by {100 * fall(newton.x):.1f} +- "
    f"{100 * np.sqrt(slope @ covariance @ slope):.1f} %"
)

# %%
# Convergence, estimates, and the counts.

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11, 3.6), layout="constrained"
)
best = min(newton.fun, quasi.fun)
for path, label in [
    (newton_path, "Newton, exact Hessian"),
    (quasi_path, "BFGS, exact gradient"),
]:
    left.semilogy(np.maximum(path - best, 1e-16), marker=".", label=label)
left.set(
    xlabel="step",
    ylabel="loss above its minimum (nats per person)",
    title="Convergence",
)
left.legend()

poisson = sm.Poisson(counts, x).fit(disp=False)
rows = np.arange(len(names) - 1)
middle.axvline(0, color="0.8", linewidth=0.8)
middle.errorbar(
    newton.x[:-2],
    rows,
    xerr=1.96 * errors[:-2],
    fmt="o",
    markersize=4,
    label="negative binomial",
)
middle.errorbar(
    poisson.params[:-1],
    rows + 0.25,
    xerr=1.96 * poisson.bse[:-1],
    fmt="s",
    markersize=3,
    label="Poisson",
)
middle.set(
    yticks=rows,
    yticklabels=names[:-1],
    xlabel="change of the log mean, 95 %",
    title="Estimates",
)
middle.legend()

k = np.arange(21)
alpha, mean = np.exp(newton.x[-1]), np.exp(x @ newton.x[:-1])
expected = np.mean(
    stats.nbinom.pmf(k[:, None], 1 / alpha, 1 / (1 + alpha * mean)), axis=1
)
right.bar(k, [np.mean(counts == each) for each in k], color="0.8", label="people")
right.plot(k, expected, ".-", label="negative binomial")
right.plot(
    k,
    np.mean(stats.poisson.pmf(k[:, None], np.exp(x @ poisson.params)), axis=1),
    ".-",
    label="Poisson",
)
right.set(xlabel="visits in a year", ylabel="share", title="Counts")
right.legend()
plt.show()

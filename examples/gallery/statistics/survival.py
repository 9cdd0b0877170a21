"""
Survival analysis with censoring
================================

Of 69 people who were given a new heart in the Stanford program, 24 were alive when the
study closed: their lives are longer than what was seen of them, and how much longer
nobody knows. Such a *censored* life counts by the logarithm of the survival function, a
seen death by that of the density. Everything else is maximum likelihood: a Weibull
regression here, and Cox's proportional hazards beside it.

What one learns: densities and survival functions from one distribution, ``np.where``
over what was seen, a partial likelihood with sorting and cumulative sums, Newton's
method for both.
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from scipy.optimize import minimize

import funcgrad as fg
from funcgrad.scipy import stats

data = sm.datasets.heart.load_pandas().data
days = data["survival"].to_numpy()
died = data["censors"].to_numpy() == 1
age = (data["age"].to_numpy() - data["age"].mean()) / 10


def newton(loss, start):
    """The minimum, and the standard errors that its Hessian gives."""
    hessian = fg.jit(fg.hessian(loss), engine="numpy")
    step = fg.jit(fg.value_and_grad(loss), engine="numpy")
    found = minimize(
        step,
        start,
        jac=True,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-9},
    )
    return found.x, np.sqrt(np.diag(np.linalg.inv(hessian(found.x))))


# %%
# Weibull: lives that get shorter with age
# ----------------------------------------
# The scale of the distribution is :math:`\exp(\beta_0 + \beta_1 \cdot \text{age})`: an
# accelerated failure time.


def weibull(params):
    shape, level, slope = params
    lives = stats.weibull_min(np.exp(shape), scale=np.exp(level + slope * age))
    return -np.sum(np.where(died, lives.logpdf(days), lives.logsf(days)))


params, errors = newton(weibull, np.array([0.0, np.log(days.mean()), 0.0]))
for name, estimate, error in zip(
    ["log shape", "log scale", "per ten years"], params, errors, strict=True
):
    print(f"{name:>14} {estimate:7.4f} +- {error:.4f}")

# %%
# Cox: nothing is said of time itself
# -----------------------------------
# At each death, how likely is it that of all who were still alive this one died? Sorted
# by time, the sums over those at risk are one cumulative sum from the end; deaths on
# one day share theirs (Breslow, 1974).

order = np.argsort(days)
at_risk_from = np.searchsorted(days[order], days[order])


def cox(slope):
    risk = slope[0] * age[order]
    at_risk = np.cumsum(np.exp(risk)[::-1])[::-1][at_risk_from]
    return -np.sum((risk - np.log(at_risk))[died[order]])


slope, slope_error = newton(cox, np.zeros(1))
reference = sm.PHReg(days, age, status=died, ties="breslow").fit()
print(
    f"hazard ratio per ten years: {np.exp(slope[0]):.3f}, "
    f"statsmodels' {np.exp(reference.params[0]):.3f}"
)
np.testing.assert_allclose(
    [slope, slope_error], [reference.params, reference.bse], rtol=1e-4
)

# %%
# A Weibull regression is a proportional hazards model too: its hazard ratio is
# :math:`\exp(-\beta_1 \cdot \text{shape})`. Both tell of the same people, so they agree
# within their errors, and so does Kaplan and Meier's estimate with the curve.


def hazard_ratio(params):
    return np.exp(-params[2] * np.exp(params[0]))


print(f"Weibull's hazard ratio per ten years: {hazard_ratio(params):.3f}")
assert abs(np.log(hazard_ratio(params)) - slope[0]) < slope_error[0]

# %%
# The median life by age, with an error by the delta method: its derivatives by all
# parameters at all ages are one Jacobian.

covariance = np.linalg.inv(fg.hessian(weibull)(params))
ages = np.linspace(data["age"].min(), data["age"].max(), 100)


def log_median(params):
    shape, level, slope = params
    return (
        level
        + slope * (ages - data["age"].mean()) / 10
        + np.log(np.log(2)) / np.exp(shape)
    )


jacobian = fg.jacobian(log_median)(params)
spread = np.sqrt(np.sum(jacobian @ covariance * jacobian, axis=1))
middle = log_median(params)

# %%
# Lives by Kaplan and Meier, where bars are people last seen alive, and by Weibull; and
# the median by age.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.8), layout="constrained", width_ratios=(1.5, 1)
)
grid = np.linspace(0.5, 1500, 300)
for part, color, name in [(age < 0, "C0", "below"), (age >= 0, "C1", "above")]:
    kaplan_meier = sm.SurvfuncRight(days[part], died[part])
    steps = np.append(0, kaplan_meier.surv_times), np.append(1, kaplan_meier.surv_prob)
    left.step(*steps, where="post", color=color, linewidth=1, alpha=0.6)
    scale = np.exp(params[1] + params[2] * age[part])
    curve = stats.weibull_min.sf(grid[:, None], np.exp(params[0]), scale=scale).mean(
        axis=1
    )
    left.plot(
        grid,
        curve,
        color=color,
        label=f"{name} the mean age of {data['age'].mean():.0f}",
    )
    alive = days[part & ~died]
    left.plot(
        alive,
        steps[1][np.searchsorted(steps[0], alive, side="right") - 1],
        "|",
        color=color,
        markersize=7,
    )
left.set(
    xlabel="days since the operation",
    ylabel="share alive",
    ylim=(0, 1),
    title="Kaplan and Meier, and Weibull",
)
left.legend()
right.semilogy(ages, np.exp(middle), label="median, Weibull")
right.fill_between(
    ages,
    np.exp(middle - 1.96 * spread),
    np.exp(middle + 1.96 * spread),
    alpha=0.2,
    label="95 %",
)
right.plot(data["age"][died], days[died], ".", color="0.4", label="died")
right.plot(
    data["age"][~died],
    days[~died],
    "^",
    color="C2",
    markersize=4,
    label="alive when last seen",
)
right.set(
    xlabel="age at the operation (years)",
    ylabel="days since the operation",
    title="Life by age",
)
right.legend(loc="upper right")
plt.show()

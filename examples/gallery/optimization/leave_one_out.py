r"""
What if this patient had not been there?
========================================

A classifier of tumours is fitted to 569 patients. How would it judge each of them, had
it not seen that one? Refitting 569 times gives the answer; the implicit function
theorem gives it from one fit. The fit is a function of the patients' weights, defined
by its gradient being zero, and ``fg.implicit_root`` differentiates it, however it was
found.

What one learns: derivatives of the result of an optimization, a Jacobian through an
implicit layer, ``fg.vmap`` over fits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import funcgrad as fg

data = load_breast_cancer()
x = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
x = np.column_stack([x, np.ones(len(x))])
benign = data.target.astype(float)
PENALTY = 1.0


def loss(beta, weights):
    logits = x @ beta
    return np.sum(
        weights * (np.logaddexp(0, logits) - benign * logits)
    ) + PENALTY / 2 * np.sum(beta[:-1] ** 2)


# %%
# The fit, by Newton's method
# ---------------------------
# Ten steps are enough. The derivative does not go through them.


def newton(residual, beta, steps=10):
    for _ in range(steps):
        beta = beta - np.linalg.solve(fg.jacobian(residual)(beta), residual(beta))
    return beta


def fit(weights):
    return fg.implicit_root(fg.grad(loss), np.zeros(x.shape[1]), weights, solver=newton)


everybody = np.ones(len(x))
beta = fit(everybody)
reference = LogisticRegression(C=1 / PENALTY, tol=1e-10, max_iter=5000).fit(
    x[:, :-1], benign
)
np.testing.assert_allclose(beta[:-1], reference.coef_[0], atol=1e-5)

# %%
# One Jacobian, and 569 fits
# --------------------------
# To leave somebody out is to take the weight from one to zero. The Jacobian of the fit
# by all weights costs one linear solve, and is the slope at one; where a patient has
# much leverage, the curve bends, and a step of Newton's method from there is the slope
# divided by what the others hold of it (Rad and Maleki, 2020). The fits to compare it
# with run side by side.

jacobian = fg.jacobian(fit)(everybody)
seen = x @ beta
slope = np.sum(x * jacobian.T, axis=1)
p = 1 / (1 + np.exp(-seen))
leverage = slope * (p * benign - (1 - p) * (1 - benign))
straight = seen - slope
predicted = seen - slope / (1 - leverage)


def refit(weights):
    return newton(lambda beta: fg.grad(loss)(beta, weights), beta, steps=4)


betas = fg.jit(fg.vmap(refit), engine="numpy")(1 - np.eye(len(x)))
exact = np.sum(x * betas, axis=1)
rows = {
    "seen": seen,
    "left out, slope": straight,
    "left out, Newton": predicted,
    "left out, 569 fits": exact,
}
for name, logits in rows.items():
    log_loss = np.mean(np.logaddexp(0, logits) - benign * logits)
    print(
        f"{name:>18}: {np.sum((logits > 0) != benign):2} wrong, log loss {log_loss:.4f}"
    )
assert np.corrcoef(exact - seen, predicted - seen)[0, 1] > 0.99

# %%
# How each patient's own judgement changes, and who holds the classifier where it is.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
kinds = [("malignant", benign == 0, "C1"), ("benign", benign == 1, "C0")]
for name, part, color in kinds:
    left.plot(
        (exact - seen)[part],
        (predicted - seen)[part],
        ".",
        color=color,
        markersize=4,
        label=name,
    )
    shift = np.abs(x @ jacobian).max(axis=0)
    right.semilogy(seen[part], shift[part], ".", color=color, markersize=4, label=name)
ends = np.array([(exact - seen).min(), (exact - seen).max()])
left.plot(ends, ends, color="0.6", linewidth=0.8, zorder=0)
left.set(
    xlabel="change of the logit, by refitting",
    ylabel="change of the logit, by one Jacobian",
    title="Left out",
)
left.legend()
right.set(
    xlabel="logit of the patient",
    ylabel="largest change of anybody's logit",
    title="Influence",
)
right.set(xlim=(-25, 20), ylim=(1e-9, 10))
right.legend()
plt.show()

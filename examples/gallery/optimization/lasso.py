"""
The lasso by proximal gradients, all penalties at once
======================================================

Which of ten measurements tell how diabetes will go on? The lasso answers by a penalty
on absolute values, for which a plain gradient is not enough: after each step the
coefficients are shrunk towards zero (Beck and Teboulle, 2009). Nesterov's momentum
makes it fast, and the whole path of a hundred penalties is one batched program.

What one learns: an algorithm of one's own around ``fg.grad``, loops by ``fg.scan``,
``fg.vmap`` over a hyperparameter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lasso_path

import funcgrad as fg

data = load_diabetes()
x = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
y = data.target - data.target.mean()


def smooth(beta):
    return np.mean((y - x @ beta) ** 2) / 2


# %%
# The proximal step
# -----------------
# A gradient step on the smooth part, as long as the largest curvature allows, and then
# the shrinking, which is the lasso's own minimum near a point. The smallest curvature
# says how much momentum is good.

curvatures = np.linalg.eigvalsh(fg.hessian(smooth)(np.zeros(10)))
lr = 1 / curvatures[-1]
ratio = np.sqrt(curvatures[0] / curvatures[-1])
momentum = (1 - ratio) / (1 + ratio)


def lasso(penalty):
    def step(carry, _):
        beta, ahead = carry
        moved = ahead - lr * fg.grad(smooth)(ahead)
        new = np.sign(moved) * np.maximum(np.abs(moved) - lr * penalty, 0)
        return (new, new + momentum * (new - beta)), smooth(new) + penalty * np.sum(
            np.abs(new)
        )

    (beta, _), heights = fg.scan(step, (np.zeros(10), np.zeros(10)), None, length=800)
    return beta, heights


penalties = np.geomspace(np.abs(x.T @ y).max() / len(y), 0.01, 100)
betas, heights = map(np.asarray, fg.jit(fg.vmap(lasso))(penalties))

# %%
# scikit-learn goes down the same path one coordinate and one penalty at a time.

_, reference, _ = lasso_path(x, y, alphas=penalties, tol=1e-10, max_iter=100_000)
print(
    "largest difference from scikit-learn's "
    f"path: {np.abs(betas - reference.T).max():.1e}"
)
np.testing.assert_allclose(betas, reference.T, rtol=0, atol=1e-3)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", width_ratios=(1.6, 1)
)
for column, name in enumerate(data.feature_names):
    color = plt.get_cmap("tab10")(column)
    left.semilogx(penalties, betas[:, column], color=color, label=name)
    left.semilogx(
        penalties[::9], reference[column, ::9], ".", color=color, markersize=5
    )
left.invert_xaxis()
left.set(
    xlabel="penalty",
    ylabel="coefficient (of the standardized column)",
    title="The path; dots are scikit-learn's",
)
left.legend(ncols=2)
for which in (10, 50, 90):
    above = heights[which] - heights[which].min()
    right.semilogy(
        np.maximum(above, 1e-13),
        color=plt.get_cmap("viridis")(which / 100),
        label=f"penalty {penalties[which]:.2f}",
    )
right.set(
    xlabel="step",
    ylabel="height above the minimum",
    ylim=(1e-12, None),
    title="Convergence",
)
right.legend()
plt.show()

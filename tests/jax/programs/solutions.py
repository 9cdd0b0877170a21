"""Short programs after JAX's documentation: solutions of equations, collectives, densities. They set ``out``."""

PROGRAMS = {
    "implicit differentiation: a fixed point, and conjugate gradients": """
import jax
import jax.numpy as jnp
from jax import lax

def newton(f, x):
    step = lambda x: x - f(x) / jax.grad(f)(x)
    return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-12, step, x)

def root(a):
    return lax.custom_root(lambda x: jnp.cos(x) - a * x, 0.5, newton, lambda g, y: y / g(1.0))

matrix = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])

def energy(b):
    x, _ = jax.scipy.sparse.linalg.cg(lambda x: matrix @ x, b, tol=1e-12)
    return 0.5 * b @ x

b = jnp.array([1.0, 2.0, 3.0])
roots = root(1.0), jax.grad(root)(1.0), jax.jit(jax.grad(root))(2.0), jax.vmap(root)(jnp.array([1.0, 2.0]))
out = roots, energy(b), jax.grad(energy)(b), jax.jit(jax.hessian(energy))(b)
""",
    "holomorphic functions: Jacobians and Hessians": """
import jax
import jax.numpy as jnp

def f(z):
    return jnp.stack([z[0] ** 2 * z[1], jnp.exp(z[0]) * jnp.sin(z[1])])

z = jnp.array([1.0 + 2.0j, 0.5 - 1.0j])
jacobians = jax.jacfwd(f, holomorphic=True)(z), jax.jit(jax.jacrev(f, holomorphic=True))(z)
out = jacobians, jax.hessian(f, holomorphic=True)(z), jax.grad(lambda z: f(z)[0], holomorphic=True)(z)
""",
    "collectives: a ring, and matrices by rows": """
import jax
import jax.numpy as jnp
from jax import lax

n = 4
x = jnp.arange(24.0).reshape(n, 6)

def ring_sum(x):
    def body(carry, _):
        total, moving = carry
        moving = lax.ppermute(moving, "i", [(j, (j + 1) % n) for j in range(n)])
        return (total + moving, moving), None
    (total, _), _ = lax.scan(body, (x, x), None, length=n - 1)
    return total

def by_rows(a, b):
    return a @ lax.all_gather(b, "i", tiled=True)

a, b = jnp.sin(x[:, :4]), jnp.cos(x[:, :2])
product = jax.vmap(by_rows, axis_name="i")(a[:, None], b[:, None])
own = jax.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(x[:, :4])
transposed = jax.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(x[:, :4])
out = jax.vmap(ring_sum, axis_name="i")(x), product, own, transposed
""",
    "densities and images": """
import jax
import jax.numpy as jnp
from jax import random

sample = random.normal(random.key(0), (2, 20))
density = jax.scipy.stats.gaussian_kde(sample)
points = random.normal(random.key(1), (2, 4))
score = jax.jit(jax.grad(lambda x: jnp.sum(density.logpdf(x))))(points)
width = jax.grad(lambda h: jnp.sum(jax.scipy.stats.gaussian_kde(sample, h)(points)))(0.4)

image = random.uniform(random.key(2), (6, 5, 3))
small = jax.image.resize(image, (3, 4, 3), method="linear")
loss = lambda image: jnp.mean((jax.image.resize(image, (3, 4, 3), "cubic") - small) ** 2)
out = density(points), score, width, small, jax.jit(jax.value_and_grad(loss))(image)
""",
}

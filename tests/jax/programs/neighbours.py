"""Short programs after the documentation of JAX's neighbours: their own functions, called from programs of ours.

Their own arrays are as wide as the program's where the program sets JAX's 64-bit mode.
"""

_WIDE = 'import jax\njax.config.update("jax_enable_x64", True)\nimport jax.numpy as jnp\nfrom jax import lax, random\n'

# A program, and the packages that it imports.
_WRITTEN: dict[str, tuple[str, str]] = {
    "optax: a training step with schedule and clipping": (
        "optax",
        """
import optax

def model(params, x):
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"]

def loss(params, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model(params, x), labels).mean()

k1, k2, k3 = random.split(random.key(0), 3)
params = {"w1": random.normal(k1, (4, 8)) / 2, "b1": jnp.zeros(8), "w2": random.normal(k2, (8, 3)) / 3}
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 20)))
state = optimizer.init(params)

@jax.jit
def step(params, state, x, labels):
    value, grads = jax.value_and_grad(loss)(params, x, labels)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value

x, labels = random.normal(k3, (16, 4)), jnp.arange(16) % 3
for _ in range(5):
    params, state, value = step(params, state, x, labels)
out = params, value
""",
    ),
    "optax: a scan over steps, and L-BFGS": (
        "optax",
        """
import optax

def loss(x):
    return jnp.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)

def fit(optimizer, x, steps):
    def step(carry, _):
        x, state = carry
        value, grads = jax.value_and_grad(loss)(x)
        updates, state = optimizer.update(grads, state, x, value=value, grad=grads, value_fn=loss)
        return (optax.apply_updates(x, updates), state), value
    (x, _), values = lax.scan(step, (x, optimizer.init(x)), length=steps)
    return x, values

start = jnp.array([-1.2, 1.0, 0.5])
adam = jax.jit(lambda x: fit(optax.with_extra_args_support(optax.adam(0.1)), x, 20))(start)
out = adam, jax.jit(lambda x: fit(optax.lbfgs(), x, 8))(start)
""",
    ),
    "flax.nnx: split and merge": (
        "flax optax",
        """
from flax import nnx
import optax

class Net(nnx.Module):
    def __init__(self, rngs):
        self.first, self.norm = nnx.Linear(4, 8, rngs=rngs), nnx.LayerNorm(8, rngs=rngs)
        self.last = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(nnx.gelu(self.norm(self.first(x))))

graphdef, params = nnx.split(Net(nnx.Rngs(0)), nnx.Param)
x = random.normal(random.key(1), (16, 4))
y = x[:, :2] ** 2

def loss(params):
    return jnp.mean((nnx.merge(graphdef, params)(x) - y) ** 2)

optimizer = optax.sgd(0.1, momentum=0.9)
state = optimizer.init(params)

@jax.jit
def step(params, state):
    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value

for _ in range(3):
    params, state, value = step(params, state)
out = value, jax.tree.leaves(params)
""",
    ),
    "flax.linen: gradients and a batch of a convolution": (
        "flax",
        """
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.avg_pool(nn.relu(nn.Conv(4, (3, 3))(x)), (2, 2), (2, 2))
        return nn.log_softmax(nn.Dense(3)(x.reshape((x.shape[0], -1))))

model, x = Net(), random.normal(random.key(1), (2, 8, 8, 1))
params = model.init(random.key(0), x)

def loss(params):
    return -jnp.mean(model.apply(params, x)[:, 0])

each = jax.vmap(lambda x: model.apply(params, x[None])[0])(x)
out = jax.tree.leaves(jax.jit(jax.value_and_grad(loss))(params)), each
""",
    ),
    "equinox: filtered transforms of functions of ours": (
        "equinox optax",
        """
import equinox as eqx
import optax

model = eqx.nn.MLP(2, 1, 8, 1, activation=jax.nn.tanh, key=random.key(0))
x = random.normal(random.key(1), (16, 2))
y = jnp.sum(x, 1, keepdims=True)

@eqx.filter_value_and_grad
def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)

optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(model, eqx.is_array))

@eqx.filter_jit
def step(model, state, x, y):
    value, grads = loss(model, x, y)
    updates, state = optimizer.update(grads, state)
    return eqx.apply_updates(model, updates), state, value

for _ in range(3):
    model, state, value = step(model, state, x, y)
out = value, model(x[0])
""",
    ),
    "equinox: partition and combine in transforms of ours": (
        "equinox",
        """
import equinox as eqx

params, static = eqx.partition(eqx.nn.MLP(2, 1, 8, 1, key=random.key(0)), eqx.is_array)
x = random.normal(random.key(1), (16, 2))
y = jnp.sum(x, 1, keepdims=True)

def loss(params):
    return jnp.mean((jax.vmap(eqx.combine(params, static))(x) - y) ** 2)

@jax.jit
def step(params):
    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

for _ in range(3):
    params, value = step(params)
out = value, jax.tree.leaves(jax.grad(loss)(params))
""",
    ),
    "numpyro: NUTS with a model of ours": (
        "numpyro",
        """
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

def model(y, sigma):
    mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfCauchy(5))
    theta = numpyro.sample("theta", dist.Normal(mu, tau).expand([4]))
    numpyro.sample("obs", dist.Normal(theta + jnp.sin(theta), sigma), obs=y)

mcmc = MCMC(NUTS(model), num_warmup=10, num_samples=10, progress_bar=False)
mcmc.run(random.key(0), jnp.array([28.0, 8.0, -3.0, 7.0]), jnp.array([15.0, 10.0, 16.0, 11.0]))
out = mcmc.get_samples()["mu"]
""",
    ),
    "numpyro: a log density in a sampler of ours": (
        "numpyro",
        """
import numpyro
import numpyro.distributions as dist
from numpyro.infer.util import log_density

def model(x, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([2]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=x @ w), obs=y)

x = random.normal(random.key(1), (16, 2))
y = (x[:, 0] > 0).astype(int)

def logp(w):
    return log_density(model, (x, y), {}, {"w": w})[0]

@jax.jit
def langevin(key, w):
    def body(w, key):
        w = w + 0.01 * jax.grad(logp)(w) + jnp.sqrt(0.02) * random.normal(key, w.shape)
        return w, w
    return lax.scan(body, w, random.split(key, 5))[1]

w = jnp.array([0.1, 0.2])
out = jax.grad(logp)(w), jax.hessian(logp)(w), langevin(random.key(0), w)
""",
    ),
    "blackjax: NUTS in a scan of ours": (
        "blackjax",
        """
import blackjax

def logp(x):
    return -0.5 * jnp.sum(x["a"] ** 2) - 0.5 * jnp.sum((x["b"] - 1) ** 2 / 4)

nuts = blackjax.nuts(logp, 0.5, jnp.ones(3))

def one(state, key):
    state, _ = nuts.step(key, state)
    return state, state.position["a"]

out = lax.scan(one, nuts.init({"a": jnp.ones(2), "b": jnp.array([0.0])}), random.split(random.key(0), 5))[1]
""",
    ),
    "diffrax: gradients of a solution": (
        "diffrax",
        """
import diffrax

def field(t, y, args):
    return jnp.array([y[1], -args[0] * jnp.sin(y[0]) - args[1] * y[1]])

def final(args):
    times = diffrax.SaveAt(ts=jnp.linspace(0.0, 1.0, 3))
    start = jnp.array([1.0, 0.0])
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Heun(), 0.0, 1.0, 0.25, start, args=args, saveat=times
    )
    return jnp.sum(solution.ys[-1] ** 2)

args = jnp.array([2.0, 0.3])
out = final(args), jax.grad(final)(args), jax.jit(jax.value_and_grad(final))(args)
""",
    ),
    "optimistix and lineax: derivatives of roots and solutions": (
        "optimistix lineax",
        """
import lineax
import optimistix

def root(a):
    f = lambda y, a: jnp.stack([jnp.tanh(y[1] - a[0]), y[0] - jnp.exp(-y[1]) * a[1]])
    return optimistix.root_find(f, optimistix.Newton(rtol=1e-10, atol=1e-10), jnp.array([0.5, 0.5]), args=a).value

def solve(a):
    return lineax.linear_solve(lineax.MatrixLinearOperator(jnp.array([[2.0, 1.0], [1.0, 3.0]]) * a[0]), a).value

a = jnp.array([0.3, 0.7])
out = root(a), jax.jacobian(root)(a), jax.jit(jax.jacobian(solve))(a)
""",
    ),
}
PROGRAMS = {name: _WIDE + text for name, (_, text) in _WRITTEN.items()}
# The packages that a program needs.
NEEDS = {name: packages.split() for name, (packages, _) in _WRITTEN.items()}

"""Short programs after JAX's documentation: training, layers, random numbers, pytrees. Results are left in ``out``."""

PROGRAMS = {
    "training a multilayer perceptron": """
import jax
import jax.numpy as jnp
from jax import grad, jit, vmap, random
from jax.nn import relu
from jax.scipy.special import logsumexp

def random_layer_params(m, n, key, scale=1e-1):
    w_key, b_key = random.split(key)
    return scale * random.normal(w_key, (n, m)), scale * random.normal(b_key, (n,))

def init_network_params(sizes, key):
    keys = random.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]

def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        outputs = jnp.dot(w, activations) + b
        activations = relu(outputs)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - logsumexp(logits)

batched_predict = vmap(predict, in_axes=(None, 0))

def loss(params, images, targets):
    preds = batched_predict(params, images)
    return -jnp.mean(preds * targets)

@jit
def update(params, x, y):
    grads = grad(loss)(params, x, y)
    return [(w - 0.5 * dw, b - 0.5 * db) for (w, b), (dw, db) in zip(params, grads)]

params = init_network_params([8, 16, 3], random.key(0))
x = random.normal(random.key(1), (10, 8))
y = jax.nn.one_hot(random.randint(random.key(2), (10,), 0, 3), 3)
for _ in range(5):
    params = update(params, x, y)
out = params, loss(params, x, y)
""",
    "an optimizer by hand: Adam": """
import jax
import jax.numpy as jnp
from functools import partial

def adam_init(params):
    zeros = jax.tree.map(jnp.zeros_like, params)
    return zeros, zeros, 0

@partial(jax.jit, static_argnames=("lr",))
def adam_step(params, state, grads, lr=0.1, b1=0.9, b2=0.999, eps=1e-8):
    m, v, t = state
    t += 1
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g ** 2, v, grads)
    rate = lr * jnp.sqrt(1 - b2 ** t) / (1 - b1 ** t)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + eps), params, m, v)
    return params, (m, v, t)

loss = lambda p: jnp.sum((p["w"] - 3.0) ** 2) + p["b"] ** 4
params = {"w": jnp.zeros(3), "b": jnp.array(2.0)}
state = adam_init(params)
for _ in range(10):
    params, state = adam_step(params, state, jax.grad(loss)(params))
out = params, state
""",
    "a convolutional network": """
import jax
import jax.numpy as jnp
from jax import lax, nn, random

def forward(params, images):
    x = lax.conv_general_dilated(images, params["conv"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = nn.relu(x)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = x.reshape(x.shape[0], -1)
    return nn.log_softmax(x @ params["dense"])

k = random.split(random.key(0), 3)
params = {"conv": nn.initializers.he_normal()(k[0], (3, 3, 1, 4))}
params["dense"] = nn.initializers.lecun_normal()(k[1], (64, 3))
images = random.normal(k[2], (2, 8, 8, 1))
loss = lambda p: -forward(p, images)[jnp.arange(2), jnp.array([0, 2])].mean()
out = forward(params, images), jax.jit(jax.grad(loss))(params)
""",
    "attention and layer normalization": """
import jax
import jax.numpy as jnp
from jax import nn, random

def layer_norm(x, scale, bias, eps=1e-6):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + eps) * scale + bias

def attention(params, x):
    q, k, v = jnp.split(x @ params["qkv"], 3, axis=-1)
    scores = q @ k.T / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape, dtype=bool))
    scores = jnp.where(mask, scores, -jnp.inf)
    return nn.softmax(scores, axis=-1) @ v @ params["out"]

def block(params, x):
    x += attention(params, layer_norm(x, params["s"], params["b"]))
    return x + nn.gelu(x @ params["up"]) @ params["down"]

ks = random.split(random.key(7), 5)
shapes = {"qkv": (6, 18), "out": (6, 6), "up": (6, 12), "down": (12, 6)}
params = {name: random.normal(k, s) * 0.3 for k, (name, s) in zip(ks, shapes.items())}
params |= {"s": jnp.ones(6), "b": jnp.zeros(6)}
x = random.normal(ks[4], (2, 5, 6))
f = jax.jit(jax.vmap(block, in_axes=(None, 0)))
out = f(params, x), jax.grad(lambda p: f(p, x).sum())(params)
""",
    "dropout and random keys": """
import jax
import jax.numpy as jnp
from jax import random

def dropout(key, x, rate):
    keep = random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0)

key = random.PRNGKey(42)
key, subkey = random.split(key)
x = random.normal(subkey, (4, 3))
keys = random.split(key, 4)
out = (
    dropout(key, x, 0.5),
    jax.vmap(lambda k, row: dropout(k, row, 0.3))(keys, x),
    random.uniform(key, (3,), minval=-1, maxval=1),
    random.randint(key, (5,), 0, 10),
    random.permutation(key, jnp.arange(6)),
    random.choice(key, jnp.arange(10), (4,), replace=False),
    random.categorical(key, x, axis=1),
    random.gamma(key, 2.0, (3,)),
    random.multivariate_normal(key, jnp.zeros(2), jnp.eye(2), (3,)),
    jax.random.key_data(random.fold_in(key, 3)),
)
""",
    "pytrees": """
import jax
import jax.flatten_util
import jax.numpy as jnp

params = {"layer1": {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}, "layer2": [jnp.arange(4.), (jnp.array(2.0), None)]}
leaves, treedef = jax.tree.flatten(params)
doubled = jax.tree.map(lambda x: 2 * x, params)
total = jax.tree.reduce(lambda acc, x: acc + x.sum(), params, 0.0)
paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(params)]
flat, unravel = jax.flatten_util.ravel_pytree(params)
out = leaves, doubled, total, paths, flat, unravel(flat * 3), treedef.num_leaves
""",
    "a class as a pytree": """
import jax
import jax.numpy as jnp
from jax.tree_util import register_pytree_node_class

@register_pytree_node_class
class Point:
    def __init__(self, x, y, name):
        self.x, self.y, self.name = x, y, name

    def tree_flatten(self):
        return (self.x, self.y), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)

p = Point(jnp.array(2.0), jnp.arange(3.0), "p")
g = jax.jit(jax.grad(lambda p: p.x ** 2 * p.y.sum()))(p)
moved = jax.tree.map(lambda a, b: a - 0.1 * b, p, g)
out = g.x, g.y, moved.x, moved.y, moved.name
""",
    "updates with .at": """
import jax
import jax.numpy as jnp

def bubble(x):
    def swap(i, x):
        a, b = jnp.minimum(x[i], x[i + 1]), jnp.maximum(x[i], x[i + 1])
        return x.at[i].set(a).at[i + 1].set(b)
    for _ in range(x.shape[0]):
        x = jax.lax.fori_loop(0, x.shape[0] - 1, swap, x)
    return x

x = jnp.array([3., 1., 2., 0.])
grid = jnp.zeros((3, 4))
grid = grid.at[1, 2].set(5.0).at[:, 0].add(1.0).at[jnp.array([0, 2]), jnp.array([1, 3])].multiply(2.0)
out = bubble(x), jax.jit(bubble)(x), grid, jax.grad(lambda v: bubble(v)[0] * 2 + bubble(v)[3])(x)
""",
    "sampling: Metropolis-Hastings": """
import jax
import jax.numpy as jnp
from jax import random, lax
from jax.scipy import stats

def log_prob(x):
    return jnp.logaddexp(stats.norm.logpdf(x, -1.0, 0.5), stats.norm.logpdf(x, 1.5, 1.0))

def kernel(x, key):
    k1, k2 = random.split(key)
    proposal = x + 0.8 * random.normal(k1)
    accept = jnp.log(random.uniform(k2)) < log_prob(proposal) - log_prob(x)
    x = jnp.where(accept, proposal, x)
    return x, x

_, samples = jax.jit(lambda keys: lax.scan(kernel, 0.0, keys))(random.split(random.key(0), 50))
out = samples, jax.vmap(jax.grad(log_prob))(samples)
""",
    "sampling: Hamiltonian dynamics": """
import jax
import jax.numpy as jnp

def potential(q):
    return 0.5 * jnp.dot(q, q) + 0.1 * jnp.sum(q ** 4)

def leapfrog(q, p, step, n):
    grad = jax.grad(potential)
    def body(state, _):
        q, p = state
        p -= 0.5 * step * grad(q)
        q += step * p
        p -= 0.5 * step * grad(q)
        return (q, p), potential(q) + 0.5 * p @ p
    return jax.lax.scan(body, (q, p), None, length=n)

q, p = jnp.array([1.0, -0.5]), jnp.array([0.2, 0.7])
out = jax.jit(leapfrog, static_argnums=3)(q, p, 0.1, 20), q, p
""",
    "linear regression in closed form and by descent": """
import jax
import jax.numpy as jnp
from jax import numpy as jnp2

key = jax.random.key(9)
X = jax.random.normal(key, (30, 3))
w_true = jnp.array([1.0, -2.0, 0.5])
y = X @ w_true + 0.1
Xb = jnp.column_stack([X, jnp.ones(30)])
closed = jnp.linalg.solve(Xb.T @ Xb, Xb.T @ y)
loss = lambda w: jnp.mean((Xb @ w - y) ** 2)

@jax.jit
def step(w, _):
    return w - 0.1 * jax.grad(loss)(w), loss(w)

w, losses = jax.lax.scan(step, jnp.zeros(4), None, length=200)
out = closed, w, losses, jnp.linalg.lstsq(Xb, y)[0], jnp2.linalg.norm(w - closed)
""",
    "a Gaussian process": """
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve

def kernel(params, x1, x2):
    return params["amp"] ** 2 * jnp.exp(-0.5 * (x1[:, None] - x2[None]) ** 2 / params["scale"] ** 2)

def nll(params, x, y):
    K = kernel(params, x, x) + params["noise"] ** 2 * jnp.eye(len(x))
    L = jnp.linalg.cholesky(K)
    alpha = jax.scipy.linalg.cho_solve((L, True), y)
    return 0.5 * y @ alpha + jnp.sum(jnp.log(jnp.diag(L))) + 0.5 * len(x) * jnp.log(2 * jnp.pi)

x = jnp.linspace(0, 5, 12)
y = jnp.sin(x)
params = {"amp": 1.0, "scale": 0.8, "noise": 0.3}
for _ in range(3):
    value, grads = jax.jit(jax.value_and_grad(nll))(params, x, y)
    params = jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
out = value, params
""",
    "segments: messages in a graph": """
import jax
import jax.numpy as jnp

senders, receivers = jnp.array([0, 1, 2, 2, 3]), jnp.array([1, 2, 0, 3, 3])

def message_passing(w, nodes):
    messages = jnp.tanh(nodes[senders] @ w)
    total = jax.ops.segment_sum(messages, receivers, num_segments=4)
    best = jax.ops.segment_max(messages, receivers, num_segments=4)
    return jax.nn.elu(nodes + total) + jnp.where(jnp.isfinite(best), best, 0.0)

w = jax.random.normal(jax.random.key(1), (3, 3))
nodes = jax.random.normal(jax.random.key(2), (4, 3))
slope = jax.grad(lambda w: message_passing(w, nodes).sum())
out = message_passing(w, nodes), slope(w), jax.jit(message_passing)(w, nodes)
""",
    "callbacks and prints": """
import jax
import jax.numpy as jnp
import numpy as np

seen = []

def host_sort(x):
    return np.sort(x)[::-1].copy()

@jax.jit
def f(x):
    jax.debug.callback(lambda v: seen.append(float(v)), x.sum())
    return jax.pure_callback(host_sort, jax.ShapeDtypeStruct(x.shape, x.dtype), x * 2)

y = f(jnp.array([1.0, 3.0, 2.0]))
jax.effects_barrier()
out = y, seen
""",
    "minimize Rosenbrock's function": """
import jax
import jax.numpy as jnp
from jax.scipy.optimize import minimize

jax.config.update("jax_enable_x64", True)

def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

found = minimize(rosenbrock, jnp.array([0.5, 0.3]), method="BFGS", tol=1e-9)
newton = jnp.array([1.2, 1.3])
for _ in range(8):
    newton -= jnp.linalg.solve(jax.hessian(rosenbrock)(newton), jax.grad(rosenbrock)(newton))
out = jnp.round(found.x, 4), newton
""",
    "broadcasting by vectorize, and einsum": """
import jax
import jax.numpy as jnp
from functools import partial

@partial(jnp.vectorize, signature="(n,m),(m)->(n)")
def matvec(A, x):
    return A @ x

A = jax.random.normal(jax.random.key(0), (5, 2, 3))
x = jax.random.normal(jax.random.key(1), (5, 3))
out = matvec(A, x), jnp.einsum("bnm,bm->bn", A, x), jax.grad(lambda x: matvec(A, x).sum())(x), jax.jit(matvec)(A, x[0])
""",
}

"""Short programs after JAX's documentation: transforms, custom rules, control flow. Results are left in ``out``."""

PROGRAMS = {
    "quickstart: grad, jit and vmap of a model": """
import jax
import jax.numpy as jnp
from jax import grad, jit, vmap, random

def selu(x, alpha=1.67, lmbda=1.05):
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

def sum_logistic(x):
    return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))

x_small = jnp.arange(3.)
key = random.key(1701)
mat = random.normal(key, (15, 10))
batched_x = random.normal(random.split(key)[1], (5, 10))
apply_matrix = lambda x: jnp.dot(mat, x)
fast = jit(vmap(apply_matrix))
out = jit(selu)(x_small), grad(sum_logistic)(x_small), grad(jit(grad(jit(grad(sum_logistic)))))(1.0), fast(batched_x)
""",
    "the autodiff cookbook: logistic regression": """
import jax
import jax.numpy as jnp
from jax import grad, value_and_grad

def predict(W, b, inputs):
    return 0.5 * (jnp.tanh((jnp.dot(inputs, W) + b) / 2) + 1)

inputs = jnp.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
targets = jnp.array([True, True, False, True])

def loss(W, b):
    preds = predict(W, b, inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -jnp.sum(jnp.log(label_probs))

key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
W = jax.random.normal(W_key, (3,))
b = jax.random.normal(b_key, ())
W_grad, b_grad = grad(loss, (0, 1))(W, b)
loss_value, Wb_grad = value_and_grad(loss, (0, 1))(W, b)
out = W_grad, b_grad, loss_value, Wb_grad
""",
    "the autodiff cookbook: products with the Hessian": """
import jax
import jax.numpy as jnp
from jax import grad, jvp, vjp, jacfwd, jacrev, hessian

def f(X):
    return jnp.sum(jnp.tanh(X)**2)

def hvp(f, primals, tangents):
    return jvp(grad(f), primals, tangents)[1]

def hvp_revrev(f, primals, tangents):
    x, = primals
    v, = tangents
    return grad(lambda x: jnp.vdot(grad(f)(x), v))(x)

key = jax.random.key(0)
X = jax.random.normal(key, (3, 4))
V = jax.random.normal(jax.random.fold_in(key, 1), (3, 4))
y, vjp_fun = vjp(jnp.sin, X)
jacobians = jacfwd(jnp.cumsum)(X[0]), jacrev(jnp.cumsum)(X[0])
out = hvp(f, (X,), (V,)), hvp_revrev(f, (X,), (V,)), hessian(f)(X), vjp_fun(V), jacobians
""",
    "the autodiff cookbook: per-example gradients": """
import jax
import jax.numpy as jnp
from functools import partial
from jax import jit, grad, vmap

def predict(params, x):
    for W, b in params:
        x = jnp.tanh(jnp.dot(x, W) + b)
    return x

def loss(params, x, y):
    return jnp.sum((predict(params, x) - y)**2)

keys = jax.random.split(jax.random.key(3), 4)
params = [(jax.random.normal(keys[0], (4, 8)), jnp.zeros(8)), (jax.random.normal(keys[1], (8, 2)), jnp.ones(2))]
xs, ys = jax.random.normal(keys[2], (6, 4)), jax.random.normal(keys[3], (6, 2))
perex_grads = jit(vmap(grad(loss), in_axes=(None, 0, 0)))
out = perex_grads(params, xs, ys)
""",
    "custom_jvp: log1pexp": """
import jax
import jax.numpy as jnp
from jax import custom_jvp, grad, jit, vmap

@custom_jvp
def log1pexp(x):
    return jnp.log(1. + jnp.exp(x))

@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    x, = primals
    x_dot, = tangents
    ans = log1pexp(x)
    ans_dot = (1 - 1/(1 + jnp.exp(x))) * x_dot
    return ans, ans_dot

slope = grad(log1pexp)
out = slope(100.), jit(slope)(100.), vmap(jit(slope))(jnp.arange(3.)), grad(slope)(0.)
""",
    "custom_jvp: rules for each argument": """
import jax
import jax.numpy as jnp
from jax import custom_jvp, grad, jvp

@custom_jvp
def f(x, y):
    return jnp.sin(x) * y

f.defjvps(lambda x_dot, primal_out, x, y: jnp.cos(x) * x_dot * y,
          lambda y_dot, primal_out, x, y: jnp.sin(x) * y_dot)

y, y_dot = jvp(f, (2., 3.), (1., 0.))
out = f(2., 3.), y, y_dot, grad(f)(2., 3.), grad(f, 1)(2., 3.)
""",
    "custom_vjp: gradient clipping": """
import jax
import jax.numpy as jnp
from functools import partial
from jax import custom_vjp, grad, vmap

@custom_vjp
def clip_gradient(lo, hi, x):
    return x

def clip_gradient_fwd(lo, hi, x):
    return x, (lo, hi)

def clip_gradient_bwd(res, g):
    lo, hi = res
    return (None, None, jnp.clip(g, lo, hi))

clip_gradient.defvjp(clip_gradient_fwd, clip_gradient_bwd)

def clip_sin(x):
    x = clip_gradient(-0.75, 0.75, x)
    return jnp.sin(x)

t = jnp.linspace(0, 10, 30)
out = vmap(grad(clip_sin))(t)
""",
    "custom_vjp: nondiff_argnums": """
import jax
import jax.numpy as jnp
from functools import partial

@partial(jax.custom_vjp, nondiff_argnums=(0,))
def app(f, x):
    return f(x)

def app_fwd(f, x):
    return f(x), x

def app_bwd(f, x, g):
    return (5 * g,)

app.defvjp(app_fwd, app_bwd)
out = app(lambda x: x ** 3, 2.), jax.grad(app, argnums=1)(lambda x: x ** 3, 4.)
""",
    "custom_vjp: a fixed point": """
import jax
import jax.numpy as jnp
from functools import partial
from jax import lax, custom_vjp, vjp, grad

@partial(custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, a, x_guess):
    def cond_fun(carry):
        x_prev, x = carry
        return jnp.abs(x_prev - x) > 1e-12

    def body_fun(carry):
        _, x = carry
        return x, f(a, x)

    _, x_star = lax.while_loop(cond_fun, body_fun, (x_guess, f(a, x_guess)))
    return x_star

def fixed_point_fwd(f, a, x_init):
    x_star = fixed_point(f, a, x_init)
    return x_star, (a, x_star)

def fixed_point_rev(f, res, x_star_bar):
    a, x_star = res
    _, vjp_a = vjp(lambda a: f(a, x_star), a)
    a_bar, = vjp_a(fixed_point(partial(rev_iter, f), (a, x_star, x_star_bar), x_star_bar))
    return a_bar, jnp.zeros_like(x_star)

def rev_iter(f, packed, u):
    a, x_star, x_star_bar = packed
    _, vjp_x = vjp(lambda x: f(a, x), x_star)
    return x_star_bar + vjp_x(u)[0]

fixed_point.defvjp(fixed_point_fwd, fixed_point_rev)

def newton_sqrt(a):
    update = lambda a, x: 0.5 * (x + a / x)
    return fixed_point(update, a, a)

out = newton_sqrt(2.), grad(newton_sqrt)(2.), grad(grad(newton_sqrt))(2.)
""",
    "checkpoint: a deep chain": """
import jax
import jax.numpy as jnp

@jax.checkpoint
def block(W, x):
    return jnp.sin(jnp.dot(W, x))

def f(Ws, x):
    for W in Ws:
        x = block(W, x)
    return x.sum()

Ws = [jax.random.normal(k, (4, 4)) for k in jax.random.split(jax.random.key(5), 3)]
x = jnp.ones(4)
out = jax.value_and_grad(f)(Ws, x), jax.linear_transpose(lambda v: Ws[0] @ v, x)(x)
""",
    "control flow: scan, cond, while_loop, fori_loop, switch": """
import jax
import jax.numpy as jnp
from jax import lax

def body(carry, x):
    carry += x
    return carry, carry * x

def factorial(n):
    return lax.fori_loop(1, n + 1, lambda i, acc: acc * i, 1.0)

array = jnp.arange(1., 6.)
out = (
    lax.scan(body, 0., array),
    lax.cond(array[0] > 0, lambda x: x + 1, lambda x: x - 1, array),
    lax.while_loop(lambda x: x < 10., lambda x: x * 1.7, 1.0),
    factorial(5),
    [lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], array) for i in range(3)],
    jax.grad(lambda x: lax.scan(body, x, array)[1].sum())(0.5),
    jax.vmap(factorial)(jnp.array([3, 5, 4])),
)
""",
    "control flow: a recurrent network": """
import jax
import jax.numpy as jnp
from jax import lax, random

def rnn_step(params, h, x):
    h = jnp.tanh(h @ params["Wh"] + x @ params["Wx"] + params["b"])
    return h, h @ params["Wy"]

def loss(params, xs, ys):
    h0 = jnp.zeros(params["b"].shape)
    _, preds = lax.scan(lambda h, x: rnn_step(params, h, x), h0, xs)
    return jnp.mean((preds - ys) ** 2)

k = random.split(random.key(0), 5)
params = {"Wh": random.normal(k[0], (5, 5)) / 3, "Wx": random.normal(k[1], (2, 5)), "b": jnp.zeros(5),
          "Wy": random.normal(k[2], (5, 1))}
xs, ys = random.normal(k[3], (20, 2)), random.normal(k[4], (20, 1))
step = jax.jit(jax.value_and_grad(loss))
for _ in range(3):
    value, grads = step(params, xs, ys)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
out = value, params
""",
    "associative_scan and cumulative operations": """
import jax
import jax.numpy as jnp
from jax import lax

a = jnp.array([0.9, 0.5, 0.1, 0.7])
b = jnp.array([1.0, 2.0, 3.0, 4.0])

def combine(left, right):
    a1, b1 = left
    a2, b2 = right
    return a1 * a2, a2 * b1 + b2

out = lax.associative_scan(combine, (a, b)), lax.cumsum(b, reverse=True), lax.cummax(a), jnp.cumprod(a)
""",
    "axis names: batch statistics": """
import jax
import jax.numpy as jnp
from jax import lax

def normalize(x):
    mean = lax.pmean(x, "batch")
    var = lax.pmean((x - mean) ** 2, "batch")
    return (x - mean) * lax.rsqrt(var + 1e-5)

x = jax.random.normal(jax.random.key(2), (6, 3))
batched = jax.vmap(normalize, axis_name="batch")
out = batched(x), jax.grad(lambda x: (batched(x) ** 3).sum())(x), jax.vmap(lambda v: lax.psum(v, "i"), axis_name="i")(x)
""",
    "aliases: in-place operators make new arrays": """
import jax
import jax.numpy as jnp

def residual_block(params, x):
    skip = x
    x = jnp.tanh(x @ params["w1"])
    x += skip
    normed = x
    normed -= normed.mean()
    normed /= normed.std()
    return x + normed @ params["w2"]

k1, k2, k3 = jax.random.split(jax.random.key(11), 3)
params = {"w1": jax.random.normal(k1, (4, 4)), "w2": jax.random.normal(k2, (4, 4))}
x = jax.random.normal(k3, (4,))
f = lambda p, x: residual_block(p, x).sum()
out = residual_block(params, x), jax.grad(f)(params, x), jax.jit(jax.grad(f, 1))(params, x), x
""",
    "lower, compile, eval_shape, disable_jit": """
import jax
import jax.numpy as jnp

def f(x, y):
    return {"sum": x + y, "dot": jnp.dot(x, y)}

x, y = jnp.arange(3.), jnp.ones(3)
compiled = jax.jit(f).lower(x, y).compile()
shapes = jax.eval_shape(f, jax.ShapeDtypeStruct((3,), jnp.float32), jax.ShapeDtypeStruct((3,), jnp.float32))
with jax.disable_jit():
    plain = jax.jit(f)(x, y)
out = compiled(x, y), [shapes["sum"].shape, shapes["dot"].shape], plain, str(shapes["sum"].dtype)
""",
}

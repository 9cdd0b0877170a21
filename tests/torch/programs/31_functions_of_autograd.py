import torch

F = torch.autograd.Function
once = torch.autograd.function.once_differentiable


class Exp(F):
    @staticmethod
    def forward(ctx, x, k):
        y = torch.exp(k * x)
        ctx.save_for_backward(y)
        ctx.k = k
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * ctx.k, None


class Two(F):
    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, a, b):
        x, y = ctx.saved_tensors
        return a * y + b, a * x + b


class Once(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @once
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


class Bad(F):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
y = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
z = Exp.apply(x, 2.0)
print(z)
(g,) = torch.autograd.grad(z.sum(), x, create_graph=True)
print(g.detach())
print(torch.autograd.grad(g.sum(), x))
a, b = Two.apply(x, y)
(a * b).sum().backward()
print(x.grad, y.grad, a.grad_fn is not None)
print(
    torch.autograd.gradcheck(Two.apply, (x, y)),
    torch.autograd.gradgradcheck(Two.apply, (x, y)),
    torch.autograd.gradcheck(lambda x: Exp.apply(x, 2.0), x),
    torch.autograd.gradgradcheck(lambda x: Exp.apply(x, 3.0), x),
)
o = Once.apply(x)
(g,) = torch.autograd.grad(o.sum(), x, create_graph=True)
print(g.detach())
try:
    torch.autograd.grad(g.sum(), x)
except RuntimeError as e:
    print(e)
try:
    Bad.apply(x, y).sum().backward()
except RuntimeError as e:
    print(e)
fn = torch.autograd.functional
f = lambda x: (x**3).sum() * x[0]
print(fn.jacobian(lambda x: x**2 * x.sum(), x))
print(fn.hessian(f, x))
print(fn.vjp(lambda x: x**2, x, torch.ones(2, dtype=torch.float64)))
print(fn.jvp(lambda x: x**2 * x.sum(), x, torch.ones(2, dtype=torch.float64)))
print(fn.vhp(f, x, torch.ones(2, dtype=torch.float64)), fn.hvp(f, x, torch.ones(2, dtype=torch.float64)))
print(fn.hessian(lambda x, y: (x * y).sum() ** 2, (x, y)))
print(fn.jacobian(lambda x, y: (x * y, x + 1), (x, y)))

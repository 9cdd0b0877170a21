import torch
from torch.func import grad, hessian, jacfwd, jacrev, vjp, vmap

weight = torch.randn(4, 4)
bias = torch.randn(4)
x = torch.randn(4)


def predict(weight, bias, x):
    return torch.nn.functional.linear(x, weight, bias).tanh()


ft_jacobian = jacrev(predict, argnums=2)(weight, bias, x)
print(ft_jacobian)
print(torch.allclose(ft_jacobian, jacfwd(predict, argnums=2)(weight, bias, x), atol=1e-5))
hess = hessian(lambda x: predict(weight, bias, x).sum())(x)
print(hess.shape, torch.allclose(hess, hess.T, atol=1e-5))
output, vjp_fn = vjp(lambda x: predict(weight, bias, x), x)
(product,) = vjp_fn(torch.ones(4))
print(product)
xs = torch.randn(3, 4)
print(vmap(lambda x: predict(weight, bias, x))(xs))
print(vmap(grad(lambda x: predict(weight, bias, x).pow(2).sum()))(xs))
print(vmap(torch.dot)(xs, xs))

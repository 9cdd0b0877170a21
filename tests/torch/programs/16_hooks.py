import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
seen = {}
handle = model[1].register_forward_hook(lambda module, inputs, output: seen.update(mean=output.mean().item()))
x = torch.randn(4, 2, requires_grad=True)
x.register_hook(lambda grad: grad * 2)
out = model(x).sum()
out.backward()
print(seen)
print(x.grad)
handle.remove()
seen.clear()
model(x)
print(seen)
h = model[0](x)
h.retain_grad()
h.sin().sum().backward()
print(h.grad)
print(h.grad_fn is not None, h.is_leaf, x.is_leaf)

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

model = nn.Sequential(nn.Flatten(), nn.Linear(9, 5), nn.ReLU(), nn.Linear(5, 3))
data = torch.randn(6, 1, 3, 3)
targets = torch.randint(3, (6,))
params = {k: v.detach() for k, v in model.named_parameters()}
buffers = {k: v.detach() for k, v in model.named_buffers()}


def compute_loss(params, buffers, sample, target):
    batch = sample.unsqueeze(0)
    targets = target.unsqueeze(0)
    predictions = functional_call(model, (params, buffers), (batch,))
    return F.cross_entropy(predictions, targets)


ft_compute_grad = grad(compute_loss)
ft_compute_sample_grad = vmap(ft_compute_grad, in_dims=(None, None, 0, 0))
per_sample = ft_compute_sample_grad(params, buffers, data, targets)
for name, g in sorted(per_sample.items()):
    print(name, tuple(g.shape), g.sum().item())
loss = F.cross_entropy(model(data), targets)
loss.backward()
for name, p in sorted(model.named_parameters()):
    print(torch.allclose(per_sample[name].mean(0), p.grad, atol=1e-5))

import torch

torch.set_default_dtype(torch.float64)
x = torch.linspace(0, 1, 12)
y = torch.sin(6 * x) + 0.1 * torch.randn(12)
log_scale = torch.zeros(1, requires_grad=True)
log_noise = torch.full((1,), -2.0, requires_grad=True)


def negative_log_likelihood():
    distance = torch.cdist(x[:, None], x[:, None]) ** 2
    K = torch.exp(-0.5 * distance / log_scale.exp() ** 2) + log_noise.exp() * torch.eye(12)
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(y[:, None], L)
    return 0.5 * (y @ alpha).sum() + L.diagonal().log().sum()


optimizer = torch.optim.Adam([log_scale, log_noise], lr=0.1)
for i in range(20):
    optimizer.zero_grad()
    loss = negative_log_likelihood()
    loss.backward()
    optimizer.step()
    if i % 5 == 4:
        print(loss.item(), log_scale.item())
H = torch.autograd.functional.hessian(lambda s: (s**3).sum(), log_scale.detach())
print(H, torch.get_default_dtype())
torch.set_default_dtype(torch.float32)

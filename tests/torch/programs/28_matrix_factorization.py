import torch

torch.set_printoptions(precision=3)
true = torch.randn(6, 2) @ torch.randn(2, 5)
mask = torch.rand(6, 5) < 0.7
U = torch.randn(6, 2, requires_grad=True)
V = torch.randn(2, 5, requires_grad=True)
optimizer = torch.optim.Adam([U, V], lr=0.1)
for step in range(40):
    optimizer.zero_grad()
    error = (U @ V - true)[mask]
    loss = error.pow(2).mean() + 1e-3 * (U.norm() ** 2 + V.norm() ** 2)
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(loss.item())
print(torch.linalg.svdvals((U @ V).detach())[:2])
values, indices = torch.sort((U @ V)[0], descending=True)
print(values.detach(), indices)
print(torch.where(mask, true, torch.zeros_like(true)))
torch.set_printoptions(profile="default")

import math

import torch

x = torch.linspace(-1, 1, 100, dtype=torch.float32)
y = torch.exp(x)
a = torch.randn((), requires_grad=True)
b = torch.randn((), requires_grad=True)
c = torch.randn((), requires_grad=True)
learning_rate = 1e-3
for t in range(100):
    y_pred = a + b * x + c * x**2
    loss = (y_pred - y).pow(2).sum()
    if t % 25 == 24:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        a -= learning_rate * a.grad
        b -= learning_rate * b.grad
        c -= learning_rate * c.grad
        a.grad = None
        b.grad = None
        c.grad = None
print(f"{a.item():.4f} {b.item():.4f} {c.item():.4f} {math.e:.3f}")

import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
x = torch.randn(32, 4)
y = torch.stack([x.sum(1), x.prod(1)], dim=1)
loss_fn = nn.MSELoss()
for make in (
    lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    lambda p: torch.optim.Adam(p, lr=0.01),
    lambda p: torch.optim.RMSprop(p, lr=0.002),
    lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
):
    optimizer = make(model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    for _ in range(10):
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(loss.item(), optimizer.param_groups[0]["lr"])

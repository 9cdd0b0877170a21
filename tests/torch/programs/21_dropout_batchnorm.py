import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
x = torch.randn(16, 5)
model.train()
for _ in range(3):
    print(model(x).mean().item())
model.eval()
print(model(x)[:2])
print(model[1].running_mean, model[1].running_var, model[1].num_batches_tracked)
print([name for name in model.state_dict()])
print(model.training, sum(p.numel() for p in model.parameters() if p.requires_grad))

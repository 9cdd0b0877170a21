import os
import tempfile

import torch
from torch import nn

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
path = os.path.join(tempfile.mkdtemp(), "checkpoint.pth")
torch.save({"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "loss": loss.item()}, path)
other = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
resumed = torch.optim.Adam(other.parameters(), lr=0.1)
checkpoint = torch.load(path, weights_only=True)
print(other.load_state_dict(checkpoint["model"]))
resumed.load_state_dict(checkpoint["optimizer"])
print(checkpoint["epoch"], checkpoint["loss"])
for m, o in ((model, optimizer), (other, resumed)):
    o.zero_grad()
    loss = nn.functional.mse_loss(m(x), y)
    loss.backward()
    o.step()
    print(nn.functional.mse_loss(m(x), y).item())
for name, value in other.state_dict().items():
    print(name, "\t", value.size())
try:
    nn.Linear(2, 2).load_state_dict(checkpoint["model"])
except RuntimeError as error:
    print(str(error).splitlines()[0])

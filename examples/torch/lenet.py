"""LeNet reads the 1,797 digits that come with scikit-learn.

With ``import torch`` instead of the line below, PyTorch runs the same program and prints the same numbers.

python examples/torch/lenet.py
"""

from typing import Any

from sklearn.datasets import load_digits

import funcgrad.torch as torch

nn = torch.nn


class LeNet(nn.Module):
    """Two convolutions with pools, and two dense layers, for images of 8 x 8 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(16 * 2 * 2, 48)
        self.out = nn.Linear(48, 10)

    def forward(self, x: Any) -> Any:
        """Compute a score for each of the ten digits."""
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.out(torch.relu(self.hidden(torch.flatten(x, 1))))


def main() -> None:
    """Train for three epochs, and print the loss and the share of new digits that are read right."""
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images / 16, dtype=torch.float32).view(-1, 1, 8, 8)
    y = torch.tensor(labels)
    data = torch.utils.data.TensorDataset(x[:1500], y[:1500])
    loader = torch.utils.data.DataLoader(data, batch_size=50, shuffle=True)
    model, loss_of = LeNet(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        total = 0.0
        for batch, target in loader:
            optimizer.zero_grad()
            loss = loss_of(model(batch), target)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")
    model.eval()
    with torch.no_grad():
        right = (model(x[1500:]).argmax(dim=1) == y[1500:]).float().mean().item()
    print(f"right {right:.2f}")


if __name__ == "__main__":
    main()

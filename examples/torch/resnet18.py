"""ResNet-18 by modules. The keys of its ``state_dict`` are torchvision's, so its files load into either.

With ``import torch`` instead of the line below, PyTorch runs the same program and prints the same numbers.

python examples/torch/resnet18.py

Source: He et al., *Deep residual learning for image recognition* (2015), table 1.
"""

from typing import Any

import funcgrad.torch as torch

nn = torch.nn


class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut, which has a convolution of its own if the shape changes."""

    def __init__(self, inner: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride != 1 or inner != out:
            self.downsample = nn.Sequential(nn.Conv2d(inner, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Any) -> Any:
        """Return ``f32[batch, out, height / stride, width / stride]``."""
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


class ResNet18(nn.Module):
    """Four stages of two blocks each."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(BasicBlock(64, 64, 1), BasicBlock(64, 64, 1))
        self.layer2 = nn.Sequential(BasicBlock(64, 128, 2), BasicBlock(128, 128, 1))
        self.layer3 = nn.Sequential(BasicBlock(128, 256, 2), BasicBlock(256, 256, 1))
        self.layer4 = nn.Sequential(BasicBlock(256, 512, 2), BasicBlock(512, 512, 1))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Any) -> Any:
        """Return ``f32[batch, classes]`` for images ``f32[batch, 3, height, width]``."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def main(steps: int = 2) -> None:
    """Take a few steps on small random images, and print the losses and a number of each stage."""
    torch.manual_seed(0)
    model, loss_of = ResNet18(10), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    x, y = torch.randn(4, 3, 32, 32), torch.tensor([0, 3, 5, 7])
    print(f"{len(model.state_dict())} entries, {sum(p.numel() for p in model.parameters())} parameters")
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}")
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        block = stage[1]
        print(f"{block.bn2.running_var.mean().item():.4f} {block.conv2.weight.abs().mean().item():.6f}")


if __name__ == "__main__":
    main()

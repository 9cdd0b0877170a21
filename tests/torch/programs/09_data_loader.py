import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Squares(Dataset):
    def __init__(self, n, transform=None):
        self.values = torch.arange(n, dtype=torch.float32)
        self.transform = transform

    def __len__(self):
        return len(self.values)

    def __getitem__(self, idx):
        x = self.values[idx]
        y = x * x
        if self.transform:
            x = self.transform(x)
        return x, y


data = Squares(10, transform=lambda v: v / 10)
train, test = random_split(data, [8, 2])
loader = DataLoader(train, batch_size=3, shuffle=True)
for epoch in range(2):
    for i, (features, labels) in enumerate(loader):
        print(epoch, i, features, labels, features.size())
print(len(loader), len(test))
x, y = next(iter(DataLoader(TensorDataset(torch.rand(4, 2), torch.arange(4)), batch_size=2)))
print(x, y)
loader = DataLoader([{"a": 1, "b": 2.5}, {"a": 2, "b": 3.5}], batch_size=2)
print(next(iter(loader)))

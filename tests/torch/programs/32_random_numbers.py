import torch
from torch.utils.data import (
    DataLoader,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)

torch.manual_seed(3)
ds = TensorDataset(torch.arange(10), torch.arange(10) * 2.0)
for e in range(2):
    for a, b in DataLoader(ds, batch_size=4, shuffle=True):
        print(a, b)
print(torch.rand(2))
a, b = random_split(ds, [7, 3])
print(a.indices, b.indices)
a, b = random_split(ds, [0.5, 0.5], generator=torch.Generator().manual_seed(1))
print(a.indices, b.indices)
print(
    list(WeightedRandomSampler([0.1, 0.9, 0.4], 5)),
    list(SubsetRandomSampler([5, 6, 7])),
    list(RandomSampler(range(5), replacement=True, num_samples=7)),
)
print(
    torch.multinomial(torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), 2),
    torch.bernoulli(torch.full((6,), 0.5)),
    torch.bernoulli(torch.full((6,), 0.5, dtype=torch.float64)),
)
print(torch.nn.functional.dropout(torch.ones(8), 0.5))
print(torch.nn.Linear(3, 2).weight, torch.nn.Conv2d(1, 2, 2).weight, torch.nn.Embedding(3, 2).weight)
print(
    torch.normal(torch.zeros(3), torch.ones(3)),
    torch.normal(0.0, 1.0, (3,)),
    torch.randn_like(torch.zeros(2)),
    torch.randint_like(torch.zeros(2), 5),
    torch.empty(3, dtype=torch.int64).random_(),
    torch.empty(3).random_(),
    torch.empty(3).random_(10),
)
for batch in DataLoader([{"a": i, "b": [float(i), "x"]} for i in range(3)], batch_size=2):
    print(batch)

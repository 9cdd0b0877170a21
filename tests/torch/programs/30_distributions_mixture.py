import torch
from torch.distributions import Bernoulli, MultivariateNormal, Normal, Uniform, kl_divergence

mu = torch.zeros(3, requires_grad=True)
log_sigma = torch.zeros(3, requires_grad=True)
target = Normal(torch.tensor([1.0, -1.0, 0.5]), torch.tensor([0.5, 1.0, 2.0]))
optimizer = torch.optim.SGD([mu, log_sigma], lr=0.1)
for step in range(20):
    q = Normal(mu, log_sigma.exp())
    sample = q.rsample((8,))
    loss = -(target.log_prob(sample) + q.entropy()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(loss.item(), kl_divergence(q, target).sum().item())
print(q)
print(Uniform(0.0, 2.0).log_prob(torch.tensor(1.0)), Bernoulli(torch.tensor([0.25])).entropy())
m = MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
print(m.log_prob(torch.tensor([0.3, -0.2])), m.sample((2,)).shape, m.mean, m.variance)
print(Bernoulli(logits=torch.tensor([0.0])).probs, Normal(0.0, 1.0).cdf(torch.tensor(1.0)))

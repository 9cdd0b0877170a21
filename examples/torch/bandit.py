"""REINFORCE finds the best of five arms, whose rewards are random.

With ``import torch`` instead of the line below, PyTorch runs the same program and prints the same numbers.

python examples/torch/bandit.py

Source: Williams, *Simple statistical gradient-following algorithms* (1992), eq. 4, with a running mean as the baseline.
"""

import funcgrad.torch as torch


def main(rounds: int = 200) -> None:
    """Play, and print how likely each arm has become."""
    torch.manual_seed(0)
    means = torch.tensor([0.1, 0.5, 0.2, 0.9, 0.4])
    preferences = torch.zeros(5, requires_grad=True)
    optimizer, baseline = torch.optim.Adam([preferences], lr=0.1), 0.0
    for step in range(rounds):
        policy = torch.distributions.Categorical(logits=preferences)
        arms = policy.sample((8,))
        rewards = means[arms] + 0.3 * torch.randn(8)
        loss = -(policy.log_prob(arms) * (rewards - baseline)).mean() - 0.01 * policy.entropy()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        baseline = 0.9 * baseline + 0.1 * rewards.mean().item()
        if step % 50 == 49:
            chances = " ".join(f"{p:.3f}" for p in policy.probs.tolist())
            print(f"round {step + 1}: chances {chances}, reward {baseline:.3f}")


if __name__ == "__main__":
    main()

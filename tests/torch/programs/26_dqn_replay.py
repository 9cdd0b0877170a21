import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.optim as optim

random.seed(1)
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
memory = deque([], maxlen=100)
policy_net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
target_net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
state = torch.randn(1, 3)
for t in range(12):
    with torch.no_grad():
        action = policy_net(state).max(1).indices.view(1, 1)
    next_state = None if t % 4 == 3 else torch.randn(1, 3)
    memory.append(Transition(state, action, next_state, torch.tensor([float(action.item())])))
    state = torch.randn(1, 3) if next_state is None else next_state
for step in range(4):
    batch = Transition(*zip(*random.sample(memory, 6)))
    non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(6)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected = (next_state_values * 0.9) + reward_batch
    loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    print(step, loss.item())
    target_net_state_dict = target_net.state_dict()
    policy_net_state_dict = policy_net.state_dict()
    for key in policy_net_state_dict:
        target_net_state_dict[key] = policy_net_state_dict[key] * 0.1 + target_net_state_dict[key] * 0.9
    target_net.load_state_dict(target_net_state_dict)
print(target_net[0].bias)

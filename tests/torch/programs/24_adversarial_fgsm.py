import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5))
model.eval()
data = torch.rand(3, 1, 6, 6)
target = torch.tensor([0, 3, 1])


def fgsm_attack(image, epsilon, data_grad):
    sign_data_grad = data_grad.sign()
    perturbed_image = image + epsilon * sign_data_grad
    return torch.clamp(perturbed_image, 0, 1)


for eps in [0, 0.1, 0.3]:
    data.requires_grad = True
    output = model(data)
    init_pred = output.max(1, keepdim=True)[1]
    loss = F.nll_loss(F.log_softmax(output, dim=1), target)
    model.zero_grad()
    loss.backward()
    data_grad = data.grad.data
    perturbed = fgsm_attack(data, eps, data_grad)
    after = F.log_softmax(model(perturbed), dim=1)
    print(eps, loss.item(), F.nll_loss(after, target).item(), init_pred.squeeze().tolist())
    data.grad.zero_()

import torch
import torch.nn.functional as F


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    G = torch.mm(features, features.t())
    return G.div(a * b * c * d)


content = torch.rand(1, 3, 5, 5)
style = torch.rand(1, 3, 5, 5)
kernel = torch.randn(4, 3, 3, 3)
input_img = content.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([input_img], max_iter=3)
run = [0]
while run[0] <= 6:

    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        features = F.relu(F.conv2d(input_img, kernel, padding=1))
        target = gram_matrix(F.relu(F.conv2d(style, kernel, padding=1)))
        style_score = F.mse_loss(gram_matrix(features), target)
        content_score = F.mse_loss(input_img, content)
        loss = 1000 * style_score + content_score
        loss.backward()
        run[0] += 1
        return loss

    print(optimizer.step(closure).item())
with torch.no_grad():
    input_img.clamp_(0, 1)
print(input_img.mean().item())

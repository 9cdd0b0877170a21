import torch
import torch.nn as nn
import torch.nn.functional as F

lstm = nn.LSTM(3, 3)
inputs = [torch.randn(1, 3) for _ in range(5)]
hidden = (torch.randn(1, 1, 3), torch.randn(1, 1, 3))
for i in inputs:
    out, hidden = lstm(i.view(1, 1, -1), hidden)
inputs = torch.cat(inputs).view(len(inputs), 1, -1)
out, hidden = lstm(inputs, (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)))
print(out)
print(hidden)


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim, hidden_dim, vocab_size, tagset_size):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim)
        self.hidden2tag = nn.Linear(hidden_dim, tagset_size)

    def forward(self, sentence):
        embeds = self.word_embeddings(sentence)
        lstm_out, _ = self.lstm(embeds.view(len(sentence), 1, -1))
        tag_space = self.hidden2tag(lstm_out.view(len(sentence), -1))
        return F.log_softmax(tag_space, dim=1)


model = LSTMTagger(4, 4, 6, 3)
loss_function = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(5):
    model.zero_grad()
    tag_scores = model(torch.tensor([0, 1, 2, 3]))
    loss = loss_function(tag_scores, torch.tensor([0, 1, 2, 0]))
    loss.backward()
    optimizer.step()
    print(loss.item())

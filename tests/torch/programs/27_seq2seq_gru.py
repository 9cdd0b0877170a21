import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)

    def forward(self, input):
        embedded = self.embedding(input)
        return self.gru(embedded)


class DecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        decoder_input = torch.empty(encoder_outputs.size(0), 1, dtype=torch.long).fill_(0)
        decoder_hidden = encoder_hidden
        decoder_outputs = []
        for i in range(3):
            output = F.relu(self.embedding(decoder_input))
            output, decoder_hidden = self.gru(output, decoder_hidden)
            decoder_output = self.out(output)
            decoder_outputs.append(decoder_output)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = decoder_output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = torch.cat(decoder_outputs, dim=1)
        return F.log_softmax(decoder_outputs, dim=-1), decoder_hidden


encoder, decoder = EncoderRNN(6, 5), DecoderRNN(5, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.05)
criterion = nn.NLLLoss()
source, target = torch.randint(6, (4, 4)), torch.randint(6, (4, 3))
for _ in range(4):
    optimizer.zero_grad()
    outputs, hidden = encoder(source)
    scores, _ = decoder(outputs, hidden, target)
    loss = criterion(scores.view(-1, scores.size(-1)), target.view(-1))
    loss.backward()
    optimizer.step()
    print(loss.item())
outputs, hidden = encoder(source)
print(decoder(outputs, hidden)[0].argmax(-1).shape)

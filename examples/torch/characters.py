"""Two models of a text, character by character: a GRU and a small transformer. The text is this project's license.

With ``import torch`` instead of the line below, PyTorch runs the same program and prints the same numbers.

python examples/torch/characters.py
"""

from pathlib import Path
from typing import Any

import funcgrad.torch as torch

nn = torch.nn

LENGTH, BATCH, WIDTH = 32, 16, 48


class Recurrent(nn.Module):
    """An embedding, a GRU, and a score for each next character."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH)
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.out = nn.Linear(WIDTH, characters)

    def forward(self, x: Any) -> Any:
        """Return ``f32[batch, length, characters]`` for ``i64[batch, length]``."""
        states, _ = self.gru(self.embedding(x))
        return self.out(states)


class Attentive(nn.Module):
    """Embeddings of characters and positions, one causal transformer layer, and a score for each next character."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH)
        self.position = nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.out = nn.Linear(WIDTH, characters)

    def forward(self, x: Any) -> Any:
        """Return ``f32[batch, length, characters]`` for ``i64[batch, length]``."""
        length = x.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.out(self.layer(self.embedding(x) + self.position[:length], src_mask=mask, is_causal=True))


def train(model: Any, text: Any, steps: int) -> None:
    """Train on random windows of the text, and print the loss."""
    optimizer, loss_of = torch.optim.Adam(model.parameters(), lr=0.01), nn.CrossEntropyLoss()
    for step in range(steps):
        starts = torch.randint(0, len(text) - LENGTH - 1, (BATCH,))
        windows = torch.stack([text[start : start + LENGTH + 1] for start in starts.tolist()])
        scores = model(windows[:, :-1])
        loss = loss_of(scores.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 9:
            print(f"{type(model).__name__}, step {step + 1}: loss {loss.item():.3f}")


def written(model: Any, start: Any, count: int) -> Any:
    """Continue a text with the likeliest characters."""
    with torch.no_grad():
        for _ in range(count):
            scores = model(start[None, -LENGTH:])
            start = torch.cat([start, scores[0, -1].argmax().view(1)])
    return start


def main(steps: int = 40) -> None:
    """Train both models, and print what the second one writes."""
    torch.manual_seed(0)
    letters = " ".join((Path(__file__).parents[2] / "LICENSE").read_text().split())
    alphabet = sorted(set(letters))
    text = torch.tensor([alphabet.index(letter) for letter in letters])
    for kind in (Recurrent, Attentive):
        model = kind(len(alphabet))
        train(model, text, steps)
    print(repr("".join(alphabet[i] for i in written(model, text[:8], 12).tolist())))


if __name__ == "__main__":
    main()

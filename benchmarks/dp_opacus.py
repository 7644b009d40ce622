"""The two-tower of `slateproof.learn` in PyTorch, trained by Opacus: the peer of `dp_speed`, in an environment of its own.

    python -m venv PEER; PEER/bin/pip install torch==2.13.0 opacus numpy

Nothing of slateproof is imported. The file of rounds and parameters comes from `dp_speed`, and so do commands, one JSON per line:
``{"batch": n, "steps": k, "threads": t}`` answers with the seconds of k steps on n rounds each, by the clock and of all cores;
``{"sum": n}`` with the clipped sum of the first n rounds, parameter by parameter.

Same layers, same FiLM gate, same loss; the clip covers all rows of a round, because the batch axis is the round. Noise and SGD
are Opacus' own (``DPOptimizer``, flat clipping by hooks).

Scope: none; a test peer.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
import opacus
import torch
from opacus.grad_sample import GradSampleModule, register_grad_sampler
from opacus.optimizers import DPOptimizer
from torch import nn

CLIP, NOISE, RATE = 0.3, 1.0, 2.0
LN16 = float(np.log(16.0))


class Heat(nn.Module):
    """x / (.25 * 16^sigmoid(t))."""

    def __init__(self) -> None:
        super().__init__()
        self.t = nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / (0.25 * 16.0 ** torch.sigmoid(self.t))


@register_grad_sampler(Heat)
def _heat(layer: Heat, activations: list[torch.Tensor], backprops: torch.Tensor) -> dict[nn.Parameter, torch.Tensor]:
    s = torch.sigmoid(layer.t)
    each = -activations[0] * backprops * LN16 * s * (1.0 - s) / (0.25 * 16.0**s)
    return {layer.t: each.flatten(1).sum(1, keepdim=True)}


class Towers(nn.Module):
    """Names as in `two_tower_model.Towers`; ``level`` is the bias of ``state_bias``."""

    def __init__(self, items: int, tags: int, hidden: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(items, width)
        self.item_bias = nn.Embedding(items, 1)
        self.tag_weight = nn.Linear(tags, hidden, bias=False)
        self.difficulty_weight = nn.Linear(1, hidden, bias=False)
        self.item_first = nn.Linear(width, hidden)
        self.item_second = nn.Linear(hidden, width, bias=False)
        self.state_first = nn.Linear(width + 3, hidden)
        self.film = nn.Linear(3, 2 * hidden, bias=False)
        self.state_second = nn.Linear(hidden, width, bias=False)
        self.state_bias = nn.Linear(hidden, 1)
        self.heat = Heat()

    def forward(self, items: Any, difficulty: Any, tags: Any, state: Any, past: Any, signs: Any, known: Any) -> torch.Tensor:
        inside = self.item_first(self.embedding(items)) + self.tag_weight(tags)
        inside = inside + self.difficulty_weight(difficulty[..., None] - 0.5)
        v = unit(self.item_second(torch.relu(inside)))
        centred = state - 0.5
        weights = signs / known.clamp(min=1).sqrt()[:, None]
        summary = (weights[..., None] * self.embedding(past)).sum(-2)
        hidden = torch.relu(self.state_first(torch.cat([summary, centred], -1)))
        gain, shift = self.film(centred).chunk(2, -1)
        hidden = (1.0 + gain) * hidden + shift
        u = unit(self.state_second(hidden))
        return self.heat((v * u[:, None, :]).sum(-1)) + self.item_bias(items)[..., 0] + self.state_bias(hidden)


def unit(x: torch.Tensor) -> torch.Tensor:
    """Rows of unit length."""
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True).clamp(min=1e-6))


PARAMETERS = {
    "embedding": "embedding.weight", "item_bias": "item_bias.weight", "tag_weight": "tag_weight.weight",
    "difficulty_weight": "difficulty_weight.weight", "item_first": "item_first.weight", "item_first_bias": "item_first.bias",
    "item_second": "item_second.weight", "state_first": "state_first.weight", "state_first_bias": "state_first.bias",
    "film": "film.weight", "state_second": "state_second.weight", "state_bias": "state_bias.weight", "level": "state_bias.bias",
    "heat": "heat.t",
}  # fmt: skip


class Peer:
    """Model, optimiser and rounds; batches go round the file."""

    def __init__(self, path: str) -> None:
        with np.load(path) as held:
            self.data = {name: torch.from_numpy(held[name]) for name in held.files if not name.startswith("model.")}
            start = {name: held[f"model.{name}"] for name in PARAMETERS}
        hidden, tags = start["tag_weight"].shape
        plain = Towers(*start["embedding"].shape[:1], tags, hidden, start["embedding"].shape[1])
        shapes = plain.state_dict()
        plain.load_state_dict(
            {full: torch.from_numpy(start[name]).reshape(shapes[full].shape) for name, full in PARAMETERS.items()}
        )
        self.model = GradSampleModule(plain, loss_reduction="sum")
        self.at = 0

    def optimiser(self, batch: int, noise: float) -> DPOptimizer:
        sgd = torch.optim.SGD(self.model.parameters(), lr=RATE / batch)
        return DPOptimizer(sgd, noise_multiplier=noise, max_grad_norm=CLIP, expected_batch_size=batch, loss_reduction="sum")

    def backward(self, index: torch.Tensor) -> None:
        """Per-round gradients of the rounds at ``index``."""
        data = {name: column[index] for name, column in self.data.items() if name not in ("difficulty", "tags")}
        items, labels = data["items"].clamp(min=0), data["labels"]
        facts = self.data["difficulty"][items], self.data["tags"][items]
        score = self.model(items, *facts, data["state"], data["past"].clamp(min=0), data["signs"], data["known"])
        each = nn.functional.softplus(score) - labels * score
        torch.where(data["items"] >= 0, each, 0.0).sum().backward()

    def steps(self, batch: int, steps: int) -> tuple[float, float]:
        """Seconds of ``steps`` steps, by the clock and of all cores."""
        optimiser, rounds = self.optimiser(batch, NOISE), len(self.data["items"])
        start, work = time.perf_counter(), time.process_time()
        for _ in range(steps):
            optimiser.zero_grad()
            self.backward((torch.arange(batch) + self.at) % rounds)
            optimiser.step()
            self.at = (self.at + batch) % rounds
        return time.perf_counter() - start, time.process_time() - work

    def total(self, batch: int) -> dict[str, list[float]]:
        """The clipped sum of the first rounds, without noise."""
        optimiser = self.optimiser(batch, 0.0)
        optimiser.zero_grad()
        self.backward(torch.arange(batch))
        optimiser.clip_and_accumulate()
        held = dict(self.model._module.named_parameters())
        return {name: held[full].summed_grad.detach().flatten().tolist() for name, full in PARAMETERS.items()}


def main() -> None:
    """Answer commands until the input ends."""
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    peer = Peer(sys.argv[1])
    versions = {"torch": torch.__version__, "opacus": opacus.__version__, "python": sys.version.split()[0]}
    print(json.dumps({"versions": versions, "threads": torch.get_num_threads()}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        torch.set_num_threads(asked.get("threads", 1))
        answer = peer.total(asked["sum"]) if "sum" in asked else peer.steps(asked["batch"], asked["steps"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

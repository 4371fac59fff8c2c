#!/usr/bin/env python3
"""The models of priors_bench in eager PyTorch, for comparison: a training step of the same ViT with a few priors.

    eager.py [--tokens 49,196,1024] [--rounds 9] [--batch 4] [--dim 256] [--depth 2] [--heads 4] [--json FILE]

Written the usual way: modules, scaled_dot_product_attention, torch.optim.AdamW(fused=True). Says so and stops where
Python has no torch. Run it right after priors_bench on the idle machine; both print ms a step.
"""
import argparse
import json
import math
import statistics
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    print(f"eager: skipped, this Python has no torch ({error})")
    sys.exit(0)

PRIORS = ("none", "learned-absolute", "rope-axial", "alibi-2d", "relative-bias")


def grid(side):
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    return x.flatten().float(), y.flatten().float()


class Attention(nn.Module):
    def __init__(self, prior, dim, heads, side):
        super().__init__()
        self.prior, self.heads, self.width = prior, heads, dim // heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        x, y = grid(side)
        if prior == "rope-axial":  # angles [N, d / 2]: first half by column, second by row
            rates = 100.0 ** (-4 * torch.arange(self.width // 4) / self.width)
            angles = torch.cat([x[:, None] * rates, y[:, None] * rates], 1)
            self.register_buffer("cos", angles.cos())
            self.register_buffer("sin", angles.sin())
        elif prior == "alibi-2d":
            distance = torch.hypot(x[:, None] - x[None], y[:, None] - y[None])
            slopes = 2.0 ** (-8 * (torch.arange(heads) + 1) / heads)
            self.register_buffer("mask", -slopes[:, None, None] * distance)
        elif prior == "relative-bias":
            self.table = nn.Parameter(torch.randn((2 * side - 1) ** 2, heads) * 0.02)
            index = (y[:, None] - y[None] + side - 1) * (2 * side - 1) + x[:, None] - x[None] + side - 1
            self.register_buffer("index", index.long())

    def turned(self, t):
        even, odd = t[..., 0::2], t[..., 1::2]
        return torch.stack((even * self.cos - odd * self.sin, even * self.sin + odd * self.cos), -1).flatten(-2)

    def forward(self, x):
        batch, tokens, dim = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
        mask = None
        if self.prior == "rope-axial":
            q, k = self.turned(q), self.turned(k)
        elif self.prior == "alibi-2d":
            mask = self.mask
        elif self.prior == "relative-bias":
            mask = self.table[self.index].permute(2, 0, 1)
        out = functional.scaled_dot_product_attention(q, k, v, mask)
        return self.out(out.transpose(1, 2).reshape(batch, tokens, dim))


class Block(nn.Module):
    def __init__(self, prior, dim, heads, side):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attention = Attention(prior, dim, heads, side)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    def __init__(self, prior, dim, depth, heads, side):
        super().__init__()
        self.embed = nn.Conv2d(1, dim, 2, 2)
        self.position = nn.Parameter(torch.randn(1, side * side, dim) * 0.02) if prior == "learned-absolute" else None
        self.blocks = nn.Sequential(*(Block(prior, dim, heads, side) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(dim, eps=1e-6), nn.Linear(dim, 10, bias=False)

    def forward(self, images):
        x = self.embed(images).flatten(2).transpose(1, 2)
        if self.position is not None:
            x = x + self.position
        return self.head(self.norm(self.blocks(x)).mean(1))


def stepper(prior, arguments, side):
    """A function that runs one training step and returns its seconds."""
    model = Vit(prior, arguments.dim, arguments.depth, arguments.heads, side)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05, fused=True)
    images, labels = torch.randn(arguments.batch, 1, 2 * side, 2 * side), torch.randint(10, (arguments.batch,))

    def step():
        start = time.perf_counter()
        functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - start

    step()
    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", default="49,196,1024")
    for name, default in (("rounds", 9), ("batch", 4), ("dim", 256), ("depth", 2), ("heads", 4), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = []
    for tokens in map(int, arguments.tokens.split(",")):
        side = math.isqrt(tokens)
        steps = {prior: stepper(prior, arguments, side) for prior in PRIORS}
        seconds = {prior: [] for prior in PRIORS}
        for _ in range(arguments.rounds):
            for prior, step in steps.items():
                seconds[prior].append(step())
        for prior, taken in seconds.items():
            ratio = statistics.median(t / n for t, n in zip(taken, seconds["none"]))
            print(f"{tokens:5d} tokens  {prior:18s} {ratio:6.2f} of none {1e3 * statistics.median(taken):10.2f} ms")
            rows.append({"label": prior, "tokens": tokens, "ratio": ratio, "seconds": statistics.median(taken)})
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump({"version": 1, "torch": torch.__version__, "settings": vars(arguments), "rows": rows}, out)


if __name__ == "__main__":
    main()

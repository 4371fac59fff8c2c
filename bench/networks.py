"""A plain Vision Transformer with some priors as people write them in PyTorch: modules, scaled_dot_product_attention where
its mask can say what the prior means. What bench/steps.py holds the engine's steps beside.
"""
import math
import types

import torch
import torch._dynamo
from torch import nn
from torch.nn import functional

torch._dynamo.config.fail_on_recompile_limit_hit = True  # rather than going on uncompiled

PRIORS = ("none", "learned-absolute", "rope-axial", "alibi-2d", "relative-bias", "violin", "pape", "spatial-decay",
          "guidance")  # fmt: skip
CURVES, PARABOLAS, HIDDEN = 4, 50, 256  # of violin (as snake, zigzag and their transposes), pape, guidance


def grid(side):
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    return x.flatten().float(), y.flatten().float()


def snake(side):
    rank = torch.arange(side * side).view(side, side)
    rank[1::2] = rank[1::2].flip(1)
    return rank


def zigzag(side):
    order = sorted(((y, x) for y in range(side) for x in range(side)),
                   key=lambda p: (p[0] + p[1], p[0] if (p[0] + p[1]) % 2 else p[1]))  # fmt: skip
    rank = torch.empty(side, side, dtype=torch.long)
    for place, (y, x) in enumerate(order):
        rank[y, x] = place
    return rank


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
        elif prior == "violin":
            ranks = torch.stack([r.flatten() for rank in (snake(side), zigzag(side)) for r in (rank, rank.T)])
            self.register_buffer("distance", (ranks[:, :, None] - ranks[:, None]).abs().float())  # [C, N, N]
            self.a = nn.Parameter(torch.empty(CURVES, heads).uniform_(5, 9))
            self.alpha = nn.Parameter(torch.randn(heads) * 0.5)
        elif prior == "pape":
            self.position = nn.Linear(2, heads * PARABOLAS, bias=False)
            self.a, self.b = (nn.Linear(dim, heads * PARABOLAS, bias=False) for _ in range(2))
            self.register_buffer("places", torch.stack([x, y], 1))
        elif prior == "spatial-decay":
            self.decay = nn.Linear(dim, heads, bias=False)
            self.down, self.up = nn.Linear(dim, self.width, bias=False), nn.Linear(self.width, dim, bias=False)
            self.register_buffer("distance", (x[:, None] - x[None]).abs() + (y[:, None] - y[None]).abs())

    def turned(self, t):
        even, odd = t[..., 0::2], t[..., 1::2]
        return torch.stack((even * self.cos - odd * self.sin, even * self.sin + odd * self.cos), -1).flatten(-2)

    def parabolas(self, x, q, k):
        """q and k with the channels [q, -a, 2 a s + b, row] . [k, s^2, s, 1], as the paper augments them; scaled."""
        batch, tokens, _ = x.shape

        def heads(t):
            return t.view(*t.shape[:-1], self.heads, PARABOLAS).transpose(-3, -2)

        s = heads(self.position(self.places)).expand(batch, -1, -1, -1)  # [B, H, N, m]
        a, b = functional.softplus(heads(self.a(x))), heads(self.b(x))
        row = -(a * s * s + b * s).sum(-1, keepdim=True)
        ones = torch.ones(batch, self.heads, tokens, 1)
        return torch.cat([q, -a, 2 * a * s + b, row], -1), torch.cat([k, s * s, s, ones], -1)

    def forward(self, x):
        batch, tokens, dim = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
        mask, scale = None, self.width**-0.5
        if self.prior == "rope-axial":
            q, k = self.turned(q), self.turned(k)
        elif self.prior == "alibi-2d":
            mask = self.mask
        elif self.prior == "relative-bias":
            mask = self.table[self.index].permute(2, 0, 1)
        elif self.prior == "pape":
            q, k = self.parabolas(x, q, k)
        elif self.prior == "spatial-decay":
            gate = functional.logsigmoid(self.decay(x)).transpose(1, 2)  # [B, H, N]
            mask = 0.05 * (gate[..., None] + gate[..., None, :]) * self.distance
        if self.prior == "violin":
            decay = torch.exp(-functional.softplus(-self.a)[..., None, None] * self.distance[:, None]).mean(0)
            logits = (q @ k.transpose(-2, -1)) * scale * (self.alpha[:, None, None] * decay)
            out = logits.softmax(-1) @ v
        else:
            out = functional.scaled_dot_product_attention(q, k, v, mask, scale=scale)
        out = self.out(out.transpose(1, 2).reshape(batch, tokens, dim))
        return out * self.up(torch.sigmoid(self.down(x))) if self.prior == "spatial-decay" else out


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
    """Patches of `patch` pixels in a grid of side x side, mean pooling, a linear head."""

    def __init__(self, prior, dim, depth, heads, side, patch=2, classes=10):
        super().__init__()
        self.embed = nn.Conv2d(1, dim, patch, patch)
        self.position = nn.Parameter(torch.randn(1, side * side, dim) * 0.02) if prior == "learned-absolute" else None
        self.blocks = nn.Sequential(*(Block(prior, dim, heads, side) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(dim, eps=1e-6), nn.Linear(dim, classes)
        self.readers = None
        if prior == "guidance":
            self.readers = nn.ModuleList(
                nn.Sequential(nn.Linear(dim, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)) for _ in range(2)
            )
            x, y = grid(side)
            self.register_buffer("targets", torch.stack([y, x]) / (side - 1))

    def forward(self, images):
        x = self.embed(images).flatten(2).transpose(1, 2)
        if self.position is not None:
            x = x + self.position
        return self.norm(self.blocks(x))

    def loss(self, images, labels):
        features = self(images)
        loss = functional.cross_entropy(self.head(features.mean(1)), labels)
        if self.readers is not None:
            found = torch.cat([reader(features) for reader in self.readers], -1)  # [B, N, 2]
            loss = loss + 10 * functional.smooth_l1_loss(found, self.targets.T.expand_as(found))
        return loss


def with_code_of_its_own(method, name):
    """The same method under another name. What is compiled is kept at the code: were it shared, each call would look
    through what was compiled for the other models, and after the eighth model none would be compiled any more."""
    function = method.__func__
    code = function.__code__.replace(co_name=f"{function.__name__}_{name.replace('-', '_')}")
    copied = types.FunctionType(code, function.__globals__, code.co_name, function.__defaults__, function.__closure__)
    return types.MethodType(copied, method.__self__)


class Trained:
    """A model with AdamW and a batch of noise; step() is one training step. `compiled`: by torch.compile."""

    def __init__(self, prior, *, dim, depth, heads, side, patch, batch, compiled=False):
        self.model = Vit(prior, dim, depth, heads, side, patch)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.05, fused=True)
        self.images = torch.randn(batch, 1, patch * side, patch * side)
        self.labels = torch.arange(batch) % 10
        self.loss = self.model.loss
        if compiled:
            self.loss = torch.compile(with_code_of_its_own(self.loss, prior), dynamic=False)

    def parameters(self):
        return sum(p.numel() for p in self.model.parameters())

    def step(self):
        self.loss(self.images, self.labels).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def side_of(tokens):
    return math.isqrt(tokens)

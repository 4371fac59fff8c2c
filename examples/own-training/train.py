#!/usr/bin/env python3
"""A plain ViT in PyTorch with position encodings of its own, as the trainer of a worker: see README.md."""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from locus import training
from locus.training.engine import build_of

engine = training.Engine("own-training", lock="requirements.txt", datasets=["fashion-mnist"])


@engine.backbone("torch-vit", summary="A plain ViT in PyTorch, pooled by the mean")
@dataclass
class Vit:
    dim: int = training.option(64, "width of the tokens", minimum=8, maximum=4096)
    depth: int = training.option(3, "blocks", minimum=1, maximum=64)
    heads: int = training.option(4, "attention heads", minimum=1, maximum=64)
    patch: int = training.option(7, "side of a patch", minimum=1, maximum=28)


@engine.recipe("torch-adamw", summary="AdamW with a cosine schedule")
@dataclass
class AdamW:
    epochs: int = training.option(2, "times through the data", minimum=1)
    batch: int = training.option(32, "images a step", minimum=1)
    lr: float = training.option(3e-3, "highest learning rate", above=0)
    weight_decay: float = training.option(0.05, "of matrices", minimum=0)
    limit: int = training.option(0, "images to train on; 0: all", minimum=0)


@engine.prior("torch-none", summary="No position encoding", formula="L = c q k^T")
@dataclass
class Nothing:
    pass


@engine.prior("torch-learned", summary="A learned vector per position", formula="z = z + E")
@dataclass
class Learned:
    std: float = training.option(0.02, "deviation of the first values", above=0)


@engine.prior("torch-ring", summary="Bias by the ring that another patch lies on", formula="L = c q k^T - m ring(i, j)")
@dataclass
class Ring:
    slope: float = training.option(0.1, "what every head begins with", minimum=0)


class Block(nn.Module):
    def __init__(self, vit: Vit) -> None:
        super().__init__()
        self.heads = vit.heads
        self.norm1, self.norm2 = nn.LayerNorm(vit.dim), nn.LayerNorm(vit.dim)
        self.qkv, self.out = nn.Linear(vit.dim, 3 * vit.dim), nn.Linear(vit.dim, vit.dim)
        self.mlp = nn.Sequential(nn.Linear(vit.dim, 4 * vit.dim), nn.GELU(), nn.Linear(4 * vit.dim, vit.dim))

    def forward(self, x: Tensor, bias: Tensor | None) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, vit: Vit, priors: list[training.Item], side: int, classes: int) -> None:
        super().__init__()
        if side % vit.patch or vit.dim % vit.heads:
            raise ValueError(f"patches of {vit.patch} must tile {side} pixels, and {vit.heads} heads divide {vit.dim}")
        grid = side // vit.patch
        self.embed = nn.Conv2d(1, vit.dim, vit.patch, vit.patch)
        self.blocks = nn.ModuleList(Block(vit) for _ in range(vit.depth))
        self.norm, self.head = nn.LayerNorm(vit.dim), nn.Linear(vit.dim, classes)
        place = torch.stack(torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij"), -1).flatten(0, 1)
        self.register_buffer("ring", (place[:, None] - place[None]).abs().amax(-1).float(), persistent=False)
        self.position: nn.Parameter | None = None
        self.slope: nn.Parameter | None = None
        for prior in priors:
            if isinstance(prior.options, Learned):
                self.position = nn.Parameter(torch.randn(grid * grid, vit.dim) * prior.options.std)
            if isinstance(prior.options, Ring):
                self.slope = nn.Parameter(torch.full((vit.heads, 1, 1), prior.options.slope))

    def forward(self, images: Tensor) -> Tensor:
        x = self.embed(images).flatten(2).transpose(1, 2)
        if self.position is not None:
            x = x + self.position
        bias = None if self.slope is None else -self.slope * self.ring
        for block in self.blocks:
            x = block(x, bias)
        return self.head(self.norm(x).mean(1))


def read(run: training.Run, part: str) -> tuple[Tensor, Tensor]:
    def idx(name: str, offset: int) -> Tensor:
        path = run.data_root / "fashion-mnist" / name
        try:
            return torch.frombuffer(bytearray(gzip.decompress(path.read_bytes())[offset:]), dtype=torch.uint8)
        except OSError as error:
            raise training.DataError(f"{path}: {error}") from error

    images = idx(f"{part}-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28).float() / 255
    return (images - 0.286) / 0.353, idx(f"{part}-labels-idx1-ubyte.gz", 8).long()


@torch.no_grad()
def scores(model: Model, images: Tensor, labels: Tensor) -> tuple[float, float]:
    model.eval()
    logits = torch.cat([model(images[at : at + 1000]) for at in range(0, len(images), 1000)])
    model.train()
    return 100 * (logits.argmax(1) == labels).double().mean().item(), F.cross_entropy(logits, labels).item()


def prepare(run: training.Run) -> Model:
    torch.set_num_threads(run.threads)
    torch.use_deterministic_algorithms(run.device == "cpu")
    torch.manual_seed(run.seed)
    return Model(run.model.options, run.priors, 28, 10).to(run.device)


@engine.train
def train(run: training.Run) -> None:
    recipe: AdamW = run.recipe.options
    model = prepare(run)
    images, labels = read(run, "train")
    held, held_labels = images[55000:].to(run.device), labels[55000:].to(run.device)
    count = min(recipe.limit or 55000, 55000)
    decayed = [one for one in model.parameters() if one.dim() > 1]
    others = [one for one in model.parameters() if one.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, recipe.lr)
    per_epoch = count // recipe.batch
    steps = recipe.epochs * per_epoch
    cosine = lambda at: 0.5 * (1 + math.cos(math.pi * min(at / steps, 1)))  # noqa: E731
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine)
    step = 0
    if run.resume:
        state = torch.load(run.resume, map_location=run.device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        step = state["step"]

    def save(path: Path) -> None:
        parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
        torch.save({"step": step, **{name: part.state_dict() for name, part in parts.items()}}, path)

    run.begin(steps, step, build=build_of("torch"))
    while step < steps:
        epoch, place = divmod(step, per_epoch)
        order = torch.randperm(count, generator=torch.Generator().manual_seed(run.seed * 1_000_003 + epoch))
        rows = order[place * recipe.batch : (place + 1) * recipe.batch]
        loss = F.cross_entropy(model(images[rows].to(run.device)), labels[rows].to(run.device))
        if not loss.isfinite():
            raise training.Diverged(f"the loss is {loss.item()} at step {step}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        step += 1
        if step % 10 == 0:
            run.log("loss", loss.item(), step, epoch=step / per_epoch, images=step * recipe.batch)
        run.step(step, save)
        if step % per_epoch == 0:
            top1, held_loss = scores(model, held, held_labels)
            for metric, value in (("top1", top1), ("loss", held_loss)):
                run.log(metric, value, step, split="validation", epoch=step / per_epoch, images=step * recipe.batch)
            run.validated(step, save)
    top1, held_loss = scores(model, held, held_labels)
    run.result("top1", top1, split="validation")
    run.result("loss", held_loss, split="validation")
    run.output("checkpoint", lambda path: torch.save({"model": model.state_dict()}, path))


@engine.evaluate
def evaluate(run: training.Run) -> None:
    model = prepare(run)
    model.load_state_dict(torch.load(run.inputs["checkpoint"], map_location=run.device, weights_only=True)["model"])
    run.begin(1, build=build_of("torch"))
    images, labels = read(run, "t10k")
    top1, loss = scores(model, images.to(run.device), labels.to(run.device))
    run.result("top1", top1, split="test", labels={"resolution": 28})
    run.result("loss", loss, split="test", labels={"resolution": 28})


if __name__ == "__main__":
    engine.main()

"""Segmentation and depth of a plain ViT as people write them in PyTorch: the token decoder of Active Spatial Guidance, the
head of DPT, and their losses. What bench/dense.py holds the engine's tasks beside; modules are named as the engine's.
"""
import torch
from networks import Block
from torch import nn
from torch.nn import functional

POOLED = (1, 2, 3, 6)
CHANNELS = (256, 512, 1024, 1024)
IGNORED = 255


def enlarged(x, size, corners=False):
    return functional.interpolate(x, size=tuple(size), mode="bilinear", align_corners=corners)


def unit(inside, outside, side):
    return nn.Sequential(nn.Conv2d(inside, outside, side, padding=side // 2, bias=False),
                         nn.GroupNorm(min(32, outside), outside), nn.ReLU())  # fmt: skip


class TokenPyramid(nn.Module):
    def __init__(self, dim, outputs, width=256):
        super().__init__()
        self.lateral_convs = nn.ModuleList(unit(dim, width, 1) for _ in range(4))
        self.ppm = nn.ModuleList(unit(width, width, 1) for _ in POOLED)
        self.ppm_bottleneck = unit(5 * width, width, 3)
        self.fpn_convs = nn.ModuleList(unit(width, width, 3) for _ in range(4))
        self.fuse, self.drop = unit(4 * width, width, 3), nn.Dropout2d(0.1)
        self.classifier = nn.Conv2d(width, outputs, 1)

    def forward(self, maps, image):
        size = maps[0].shape[-2:]
        levels = [lateral(x) for lateral, x in zip(self.lateral_convs, maps)]
        last = levels[-1]
        pooled = [enlarged(one(functional.adaptive_avg_pool2d(last, s)), size) for one, s in zip(self.ppm, POOLED)]
        levels[-1] = self.ppm_bottleneck(torch.cat([last, *pooled], 1))
        for i in (3, 2, 1):
            levels[i - 1] = levels[i - 1] + levels[i]  # all on one grid
        joined = self.fuse(torch.cat([out(x) for out, x in zip(self.fpn_convs, levels)], 1))
        return self.classifier(self.drop(joined))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))

    def forward(self, x):
        return self.conv2(functional.relu(self.conv1(functional.relu(x)))) + x


class Fusion(nn.Module):
    def __init__(self, width, first):
        super().__init__()
        self.out_conv = nn.Conv2d(width, width, 1)
        if not first:
            self.resConfUnit1 = Residual(width)
        self.resConfUnit2 = Residual(width)

    def forward(self, x, skip, size):
        if hasattr(self, "resConfUnit1"):
            x = x + self.resConfUnit1(skip)
        return self.out_conv(enlarged(self.resConfUnit2(x), size, corners=True))


class Dpt(nn.Module):
    def __init__(self, dim, outputs, width=256, channels=CHANNELS):
        super().__init__()
        self.projects = nn.ModuleList(nn.Conv2d(dim, c, 1) for c in channels)
        self.resize_layers = nn.ModuleList([
            nn.ConvTranspose2d(channels[0], channels[0], 4, 4), nn.ConvTranspose2d(channels[1], channels[1], 2, 2),
            nn.Identity(), nn.Conv2d(channels[3], channels[3], 3, 2, 1),
        ])  # fmt: skip
        self.scratch = nn.Module()
        for i, c in enumerate(channels):
            setattr(self.scratch, f"layer{i + 1}_rn", nn.Conv2d(c, width, 3, padding=1, bias=False))
            setattr(self.scratch, f"refinenet{i + 1}", Fusion(width, first=i == 3))
        self.scratch.output_conv1 = nn.Conv2d(width, width // 2, 3, padding=1)
        self.scratch.output_conv2 = nn.Sequential(nn.Conv2d(width // 2, 32, 3, padding=1), nn.ReLU(),
                                                  nn.Conv2d(32, outputs, 1))  # fmt: skip

    def forward(self, maps, image):
        part = self.scratch
        levels = [resize(project(x)) for resize, project, x in zip(self.resize_layers, self.projects, maps)]
        levels = [getattr(part, f"layer{i + 1}_rn")(x) for i, x in enumerate(levels)]
        x = levels[3]
        for i in (3, 2, 1, 0):
            size = levels[i - 1].shape[-2:] if i else [2 * side for side in levels[0].shape[-2:]]
            x = getattr(part, f"refinenet{i + 1}")(x, levels[i], size)
        return part.output_conv2(enlarged(part.output_conv1(x), image, corners=True))


class Backbone(nn.Module):
    """Maps of the last block of each quarter. The norm behind the last block is there and unused, as in the published code."""

    def __init__(self, dim, depth, heads, side, patch):
        super().__init__()
        self.embed = nn.Conv2d(3, dim, patch, patch)
        self.blocks = nn.ModuleList(Block("none", dim, heads, side) for _ in range(depth))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.taps = [(i + 1) * depth // 4 - 1 for i in range(4)]

    def forward(self, images):
        x = self.embed(images)
        shape, maps = x.shape, []
        x = x.flatten(2).transpose(1, 2)
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i in self.taps:
                maps.append(x.transpose(1, 2).reshape(shape))
        return maps


def standardized(x, known):
    n = known.sum((1, 2), keepdim=True).clamp(min=1)
    apart = x - (x * known).sum((1, 2), keepdim=True) / n
    return apart / ((apart.square() * known).sum((1, 2), keepdim=True) / n).clamp(min=0.5).sqrt()


def depth_loss(said, depth):
    """L1 of maps less their mean and over their deviation, and half of its gradients at four scales."""
    known = (depth > 0).float()
    error = (standardized(said, known) - standardized(depth, known)) * known
    loss = error.abs().sum() / known.sum()
    for step in (1, 2, 4, 8):
        e, k = error[:, ::step, ::step], known[:, ::step, ::step]
        across = ((e[:, :, 1:] - e[:, :, :-1]).abs() * k[:, :, 1:] * k[:, :, :-1]).sum()
        down = ((e[:, 1:] - e[:, :-1]).abs() * k[:, 1:] * k[:, :-1]).sum()
        loss = loss + 0.5 * (across + down) / k.sum()
    return loss


class DenseVit(nn.Module):
    """`task`: "segmentation" of `classes`, or "depth"."""

    def __init__(self, task, dim, depth, heads, side, patch, classes):
        super().__init__()
        self.task = task
        self.backbone = Backbone(dim, depth, heads, side, patch)
        self.decoder = TokenPyramid(dim, classes) if task == "segmentation" else Dpt(dim, 1)

    def forward(self, images):
        image = images.shape[-2:]
        out = enlarged(self.decoder(self.backbone(images), image), image)
        return out if self.task == "segmentation" else functional.softplus(out)

    def loss(self, images, target):
        out = self(images)
        if self.task == "segmentation":
            return functional.cross_entropy(out, target.long(), ignore_index=IGNORED)
        return depth_loss(out[:, 0], target)

    def load_ours(self, tensors):
        """The engine's weights by the engine's names."""
        named = {}
        for name, tensor in tensors.items():
            if not name.startswith(("backbone.", "decoder.")):
                continue
            name = name.replace(".mlp.in.", ".mlp.0.").replace(".mlp.out.", ".mlp.2.")
            if name == "backbone.embed.weight":
                tensor = tensor.reshape(self.backbone.embed.weight.shape)
            named[name] = tensor
        self.load_state_dict(named)

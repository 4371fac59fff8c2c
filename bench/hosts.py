#!/usr/bin/env python3
"""A training step of every host beside the same network in eager PyTorch, alternately, in one run.

    hosts.py STEP_BENCH [--rounds 7] [--threads 2] [--batch 4] [--only LABEL,...] [--json FILE]

STEP_BENCH is our program (bench/steps.cc). `bench/peers` installs timm and diffusers. Networks that neither has, RMT
among them, are measured alone. Printed are medians and quartiles of rounds in which both sides take their turn
(bench/rounds.py), and of the rounds' ratios. Before anything is measured, parameters are counted and outputs of the
same weights compared, theirs read by us under their names: networks that are not the same end the program.
"""
import argparse
import json
import pathlib
import tempfile

from rounds import Ours, apart, check_outputs, check_parameters, cpu, in_turn, quartiles, ratio, shown, timed

CLASSES = 1000
# label, our backbone, its size, channels and side of the images, the peer and the layout of its weights, or None
CASES = [
    ("deit-tiny", "vit", "deit-tiny", 3, 224, ("timm", "deit_tiny_patch16_224", "deit")),
    ("deit-small", "vit", "deit-small", 3, 224, ("timm", "deit_small_patch16_224", "deit")),
    ("swin-tiny", "swin", "tiny", 3, 224, ("timm", "swin_tiny_patch4_window7_224", "swin-timm")),
    ("rmt-tiny", "rmt", "tiny", 3, 224, None),
    ("dit-small", "dit", "small", 4, 32, ("diffusers", "DiTTransformer2DModel", "dit-diffusers")),
]  # fmt: skip


def catalog_entry(backbone):
    catalog = pathlib.Path(__file__).parent.parent / "engine" / "catalog.json"
    items = json.loads(catalog.read_text())["items"]
    return next(item for item in items if (item["kind"], item["id"]) == ("backbone", backbone))


def own_priors(backbone, size):
    """The position encoding of the published network, as a stage configuration has it."""
    priors = []
    for prior in catalog_entry(backbone)["facts"]["own_priors"][size]:
        (name, options), = ({prior: {}} if isinstance(prior, str) else prior).items()
        options = dict(options)
        stages = options.pop("stages", None)
        priors.append({"id": name, "options": options} | ({"stages": stages} if stages else {}))
    return priors


def request_of(case, batch, published):
    """What our program is asked to make."""
    label, backbone, size, channels, side, _ = case
    return {"label": label, "model": {"id": backbone, "options": {"size": size}}, "priors": own_priors(backbone, size),
            "channels": channels, "extent": [side, side], "classes": CLASSES, "batch": batch} \
        | ({"published": published[label]} if label in published else {})  # fmt: skip


class OfTimm:
    """A network that classifies, without the drop path that timm gives some of them."""

    def __init__(self, name, channels, side, batch, _):
        import timm
        import torch

        self.model = timm.create_model(name, pretrained=False, num_classes=CLASSES, in_chans=channels,
                                       drop_path_rate=0.0)  # fmt: skip
        self.inputs = {"image": torch.randn(batch, channels, side, side)}
        self.wanted = torch.arange(batch)
        self.criterion = torch.nn.functional.cross_entropy

    def output(self):
        return self.model(self.inputs["image"])


class OfDiffusers:
    """A Diffusion Transformer. As published its blocks share one embedding of time and class, have norms of epsilon
    1e-6 and divide the exponents of time's frequencies by 128; diffusers' defaults are others."""

    def __init__(self, name, channels, side, batch, size):
        import diffusers
        import torch

        self.model = getattr(diffusers, name)(
            num_attention_heads=size["heads"], attention_head_dim=size["dim"] // size["heads"],
            num_layers=size["depth"], patch_size=size["patch"], sample_size=side, in_channels=channels,
            out_channels=2 * channels, num_embeds_ada_norm=CLASSES, norm_eps=1e-6,
        )  # fmt: skip
        first, *others = self.model.transformer_blocks
        first.norm1.emb.time_proj.downscale_freq_shift = 0
        for block in others:
            block.norm1.emb = first.norm1.emb
        self.inputs = {"image": torch.randn(batch, channels, side, side), "time": torch.arange(batch).float(),
                       "label": torch.arange(batch)}  # fmt: skip
        self.wanted = torch.randn(batch, 2 * channels, side, side)
        self.criterion = torch.nn.functional.mse_loss

    def output(self):
        return self.model(self.inputs["image"], self.inputs["time"], self.inputs["label"], return_dict=False)[0]


class Theirs:
    """The same networks of others, each with AdamW; files of weights, inputs and outputs lie below `folder`."""

    def __init__(self, cases, threads, batch, folder):
        import torch

        torch.set_num_threads(threads)
        torch.manual_seed(0)
        self.torch, self.networks, self.published = torch, {}, {}
        packages = {"torch"}
        for label, backbone, size, channels, side, peer in cases:
            if peer is None:
                continue
            package, name, layout = peer
            packages.add(package)
            kind = {"timm": OfTimm, "diffusers": OfDiffusers}[package]
            network = kind(name, channels, side, batch, catalog_entry(backbone)["presets"][size])
            self.published[label] = {"layout": layout} | self.written(network, pathlib.Path(folder) / label)
            optimizer = torch.optim.AdamW(network.model.train().parameters(), lr=1e-3, weight_decay=0.05, fused=True)
            self.networks[label] = (network, optimizer)
        self.version = ", ".join(f"{name} {__import__(name).__version__}" for name in sorted(packages, reverse=True))

    def written(self, network, path):
        """Files of the weights and inputs, and where ours writes what it makes of them; all zeros would hide errors."""
        from safetensors.torch import save_file

        with self.torch.no_grad():
            for parameter in network.model.parameters():
                parameter.add_(0.02 * self.torch.randn_like(parameter))
        files = {kind: f"{path}-{kind}.safetensors" for kind in ("weights", "inputs", "outputs")}
        save_file({name: each.detach().clone() for name, each in network.model.state_dict().items()}, files["weights"])
        save_file(network.inputs, files["inputs"])
        return files

    def parameters(self, label):
        return sum(p.numel() for p in self.networks[label][0].model.parameters())

    def distance(self, label):
        """Between our output and theirs."""
        from safetensors.torch import load_file

        network = self.networks[label][0]
        network.model.eval()
        with self.torch.no_grad():
            expected = network.output()
        network.model.train()
        return apart(load_file(self.published[label]["outputs"])["output"], expected)

    def step(self, label):
        network, optimizer = self.networks[label]
        network.criterion(network.output(), network.wanted).backward()
        optimizer.step()
        optimizer.zero_grad()


def measured(cases, given):
    """A row for each case, and the versions of what ours was held beside."""
    with tempfile.TemporaryDirectory() as folder:
        theirs = Theirs(cases, given.threads, given.batch, folder)
        requests = [request_of(case, given.batch, theirs.published) for case in cases]
        with Ours(given.program, requests, given.threads) as ours:
            sides, distances = {}, {}
            for label, *_ in cases:
                sides[label] = {"ours": lambda label=label: ours.step(label)}
                if label in theirs.networks:
                    check_parameters(label, ours.facts[label]["parameters"], theirs.parameters(label))
                    distances[label] = theirs.distance(label)
                    check_outputs(label, distances[label])
                    sides[label]["eager"] = lambda label=label: timed(lambda: theirs.step(label))
            taken = in_turn(sides, given.rounds)
    rows = []
    for label, found in taken.items():
        row = {**ours.facts[label], "seconds": quartiles(found["ours"])}
        if "eager" in found:
            row |= {"distance": distances[label], "eager": quartiles(found["eager"]),
                    "speedup": ratio(found["eager"], found["ours"])}  # fmt: skip
        rows.append(row)
    return rows, theirs.version


def print_row(row):
    text = f"{row['label']:12s} {row['parameters']:12,d} parameters, {shown(row['seconds'], 1e3, 1)} ms a step"
    if "eager" in row:
        text += f", eager {shown(row['eager'], 1e3, 1)} ms: {shown(row['speedup'])} times as fast"
        text += f", outputs {row['distance']:.0e} apart"
    print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for name, default in (("rounds", 7), ("threads", 2), ("batch", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", help="labels, separated by commas")
    parser.add_argument("--json")
    given = parser.parse_args()
    labels = [case[0] for case in CASES]
    wanted = given.only.split(",") if given.only else labels
    if unknown := set(wanted) - set(labels):
        parser.error(f"no case is called {', '.join(sorted(unknown))}; there are {', '.join(labels)}")
    rows, peers = measured([case for case in CASES if case[0] in wanted], given)
    print(f"{cpu()}, {given.threads} threads, batch {given.batch}, float32; {peers}")
    for row in rows:
        print_row(row)
    if given.json:
        settings = {name: getattr(given, name) for name in ("rounds", "threads", "batch")}
        with open(given.json, "w") as out:
            json.dump({"version": 1, "cpu": cpu(), "peers": peers, "settings": settings, "rows": rows}, out, indent=1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Training steps of a plain ViT with and without priors beside PyTorch, eager and compiled, alternately in one run.

    steps.py STEP_BENCH [--size small|large|long] [--rounds 9] [--threads 2] [--priors none,violin,...]
             [--precision float32|bfloat16] [--beside eager,compiled,products] [--json FILE]

STEP_BENCH is our program (bench/steps.cc). Sizes: small is 7 x 7 patches, 64 wide, 3 deep, 4 heads, batch 32; large
14 x 14, 192 wide, 4 deep, 3 heads, batch 16; long 32 x 32, 192 wide, 2 deep, 3 heads, batch 4. Rows whose two networks
have not the same number of parameters are refused. All sides take their turn in rounds (bench/rounds.py); printed are
medians and quartiles of the rounds' ratios: times as fast as eager and as compiled, and the step beside that of the
first prior, `none` unless --priors says otherwise. `products` are those of an eager step alone (bench/products.py), the
bound of whoever leaves them to that library. PyTorch's side is float32 always; with --precision bfloat16 ours is held
beside our float32 as well.
"""
import argparse
import json

import torch
from networks import CURVES, PRIORS, Trained
from products import Products
from rounds import Ours, check_parameters, cpu, in_turn, quartiles, ratio, shown, timed

SIZES = {
    "small": {"dim": 64, "depth": 3, "heads": 4, "side": 7, "patch": 4, "batch": 32},
    "large": {"dim": 192, "depth": 4, "heads": 3, "side": 14, "patch": 2, "batch": 16},
    "long": {"dim": 192, "depth": 2, "heads": 3, "side": 32, "patch": 2, "batch": 4},
}
WAYS = ("eager", "compiled", "products")
STEPS = {"small": 10, "large": 2, "long": 2}  # a turn
VIOLIN = ["snake", "snake-transposed", "zigzag", "zigzag-transposed"][:CURVES]
OPTIONS = {"violin": {"curves": VIOLIN}, "spatial-decay": {"mode": "full"}}


def request_of(prior, size, precision, label):
    """What our program is asked to make."""
    side = size["side"] * size["patch"]
    options = {key: size[key] for key in ("dim", "depth", "heads", "patch")} | {"pool": "mean"}
    return {"label": label, "precision": precision, "model": {"id": "vit", "options": options}, "channels": 1,
            "extent": [side, side],
            "priors": [] if prior == "none" else [{"id": prior, "options": OPTIONS.get(prior, {})}], "classes": 10,
            "batch": size["batch"]}  # fmt: skip


def measured(priors, size, given):
    """A row for each prior."""
    steps = STEPS[given.size]
    precisions = dict.fromkeys((given.precision, "float32"))
    requests = [request_of(prior, size, one, f"{prior}:{one}") for prior in priors for one in precisions]
    with Ours(given.program, requests, given.threads) as ours:
        sides, bounds = {}, {}
        for prior in priors:
            sides[prior] = {("ours" if one == given.precision else one):
                            lambda label=f"{prior}:{one}": ours.step(label, steps) for one in precisions}  # fmt: skip
            for way in given.beside:
                other = Trained(prior, **size, compiled=way == "compiled")
                check_parameters(prior, ours.facts[f"{prior}:float32"]["parameters"], other.parameters())
                if way == "products":
                    other = bounds[prior] = Products(other.step)
                sides[prior][way] = lambda of=other: timed(of.step, steps)
        taken = in_turn(sides, given.rounds, warm_up=2)  # and compiles
    rows = []
    for prior, found in taken.items():
        row = {"label": prior, "parameters": ours.facts[f"{prior}:float32"]["parameters"],
               "seconds": quartiles(found["ours"]),
               "of_none": ratio(found["ours"], taken[priors[0]]["ours"])}  # fmt: skip
        if prior in bounds:
            row |= {key: getattr(bounds[prior], key) for key in ("flops", "bytes")}
        rows.append(row | {way: ratio(found[way], found["ours"]) for way in found if way != "ours"})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--priors", default=",".join(PRIORS))
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--beside", default="eager,compiled", help="some of eager, compiled, products, or nothing")
    parser.add_argument("--json")
    given = parser.parse_args()
    size, priors = SIZES[given.size], given.priors.split(",")
    given.beside = given.beside.split(",") if given.beside else []
    if unknown := set(given.beside) - set(WAYS):
        parser.error(f"steps cannot be held beside {', '.join(sorted(unknown))}")
    if unknown := set(priors) - set(PRIORS):
        parser.error(f"bench/networks.py has no {', '.join(sorted(unknown))}; it has {', '.join(PRIORS)}")
    torch.set_num_threads(given.threads)
    rows = measured(priors, size, given)
    print(f"{cpu()}, {given.threads} threads, {given.size}, {given.precision}; torch {torch.__version__}")
    for row in rows:
        text = f"{row['label']:18s} {1e3 * row['seconds']['median']:9.2f} ms, "
        text += f"{row['of_none']['median']:.2f} of {priors[0]}"
        for way in ("float32", *WAYS):
            if way in row:
                text += f"; {shown(row[way])} times as fast as {way}"
        if "flops" in row:
            ms = 1e3 * row["seconds"]["median"] * row["products"]["median"]
            text += f"; products: {row['flops'] / 1e9:.2f} GFLOP of {row['bytes'] / 2**20:.0f} MiB in {ms:.1f} ms"
        print(text)
    if given.json:
        with open(given.json, "w") as out:
            json.dump({"version": 1, "cpu": cpu(), "torch": torch.__version__, "size": given.size,
                       "precision": given.precision, **size,
                       "rounds": given.rounds, "threads": given.threads, "rows": rows}, out, indent=1)  # fmt: skip


if __name__ == "__main__":
    main()

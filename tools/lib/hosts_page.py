#!/usr/bin/env python3
"""Writes docs/results/hosts.md: hosts_page.py TABLE EXPORT STEPS SPEC REVISION. Every statistic is the server's.

TABLE: `locus leaderboard --json`; EXPORT: `locus export --without-points`; STEPS: `bench/hosts.py --json`, which may be
missing.
"""
import json
import pathlib
import sys

from priors_page import Run, fixed, interval


def measured(run, row):
    """FLOPs of a forward pass and bytes of a training step of the row's model, by its measure stages."""
    trials = [t for t in run.lines["trial"] if t["cell"] == row["cell"]]
    stages = {stage for t in trials for role, stage in t["stages"].items() if role.startswith("measure")}
    found = {}
    for result in run.lines["result"]:
        if result["stage"] in stages:
            found.setdefault(result["metric"], []).append(float(result["value"]))
    return {name: sum(values) / len(values) for name, values in found.items()}


def accuracy(run):
    lines = [
        "| host | position encoding | top1 %, mean ± std | paired difference to none | its 95 % interval | parameters "
        "| MFLOPs a forward pass | MiB of a training step | ms a training step |",
        "|---" * 9 + "|",
    ]
    for row in run.table["rows"]:
        cost, paired = measured(run, row), row["pairs"] > 0
        assignment = json.loads(row["assignment_json"])
        host, size = assignment["model.backbone"], assignment["model.size"]
        host += "" if size == "mini" else f" ({size})"
        encoding = " + ".join(name for each in assignment["prior"] for name in each) or "none"
        lines.append(
            f"| {host} | {encoding} | {fixed(row['mean'])} ± {fixed(row['std'])} "
            f"| {fixed(row['difference'], 2, True) if paired else '–'} "
            f"| {interval(row['difference_low'], row['difference_high'], True) if paired else '–'} "
            f"| {int(row['parameters']):,} | {cost['flops'] / 1e6:.1f} | {cost['peak_memory_bytes'] / 2**20:.1f} "
            f"| {cost['train_ms_p50']:.1f} |"
        )
    return lines


def beside_eager(steps):
    document = json.loads(steps.read_text())
    settings = document["settings"]
    lines = [
        "Published sizes, images of 224 x 224, of DiT latents of 32 x 32, and 1000 classes, batch "
        f"{settings['batch']}, float32, {settings['threads']} threads of {document['cpu']}; {document['peers']}, "
        f"eager. Medians and quartiles of {settings['rounds']} rounds, ours and theirs in turn within a round. Before "
        "that parameters were found equal, and both were given the same weights and inputs: the column says how far apart "
        "their outputs are at most, as a part of the largest number.",
        "",
        "| host | parameters | GFLOPs a forward pass | outputs apart | ms a step | eager | times as fast |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in document["rows"]:
        milliseconds = 1e3 * row["seconds"]["median"]
        apart = f"{row['distance']:.0e}" if "distance" in row else "–"
        cells = [row["label"], f"{row['parameters']:,}", f"{row['flops'] / 1e9:.2f}", apart, f"{milliseconds:.0f}"]
        if "eager" in row:
            speed = row["speedup"]
            cells.append(f"{1e3 * row['eager']['median']:.0f}")
            cells.append(f"{speed['median']:.2f} ({speed['low']:.2f} to {speed['high']:.2f})")
        else:
            cells += ["–", "–"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main(table, export, steps, spec, revision):
    run, steps = Run(table, export), pathlib.Path(steps)
    found = run.environments()
    start, end = run.span()
    parts = [
        "# Hosts",
        "",
        f"Written by `make hosts` (`tools/hosts`) from a run of `{spec}`: do not edit. Sizes for trying out "
        "(of vit also the parts of published sizes, at the width and depth of mini), one short protocol for all, tuned for none: it shows that every host learns with its own position encoding and "
        "with others, not which host is best.",
        "",
        *accuracy(run),
        "",
        "FLOPs count a multiply-add as two; memory and time are those of the measure stage, alone on the machine.",
        "",
    ]
    if steps.exists():
        parts += ["## A step beside eager PyTorch", "", *beside_eager(steps), ""]
    parts += [
        "## Machine",
        "",
        f"- trials: {', '.join(sorted(found['device_name']))}, {', '.join(sorted(found['build']))}",
        f"- run from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC, revision {revision}",
        "",
        "## Again",
        "",
        "```sh",
        "make peers hosts",
        "```",
    ]
    print("\n".join(parts))


if __name__ == "__main__":
    main(*sys.argv[1:])

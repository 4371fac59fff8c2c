#!/usr/bin/env python3
"""What tools/dense knows about tables and pictures. Every statistic is the server's (`locus leaderboard --json`); what is
computed here of several is said on the page.

    dense_page.py metrics                       "segmentation miou" and so on, a line for each table that the page needs
    dense_page.py page FOLDER PAGE REVISION     writes the page, Markdown, and pictures into the folder of its name

FOLDER holds tables, curves, exports and pictures as tools/dense names them.
"""

import json
import math
import pathlib
import shutil
import statistics
import struct
import sys
import zlib

from priors_page import Run, fixed, interval

# Experiment: (metric, heading, unit, whether more is better), the one that is reported first.
METRICS = {
    "segmentation": (
        ("miou", "mIoU", "%", True),
        ("mean-accuracy", "mean accuracy", "%", True),
        ("pixel-accuracy", "pixel accuracy", "%", True),
    ),
    "depth": (
        ("abs-rel", "AbsRel", "%", False),
        ("a1", "delta < 1.25", "%", True),
        ("rmse", "RMSE", "m", False),
    ),
}
CONSTANT = {
    "segmentation": {"": "always the most frequent class"},
    "depth": {"": "always the usual depth of training", "median": "each image's own median depth"},
}
SHOWN = (1, 3, 5)  # pictures of an evaluation that are on the page, of the first seed


def prior_of(row):
    assignment = json.loads(row["assignment_json"])
    return " + ".join(name for each in assignment["prior"] for name in each) or "none"


class Part:
    """One experiment: its tables by metric, what was exported of it, its curves and pictures."""

    def __init__(self, folder, name):
        self.name, self.folder = name, folder
        self.metrics = METRICS[name]
        self.tables = {m: json.loads((folder / f"{name}-{m}.json").read_text()) for m, *_ in self.metrics}
        self.run = Run(folder / f"{name}-{self.metrics[0][0]}.json", folder / f"{name}.jsonl")
        self.curves = json.loads((folder / f"{name}-curves.json").read_text())
        self.rows = self.first()["rows"]
        wanting = [row["label"] for row in self.rows if row["missing_seeds"] or not row["values"]]
        if wanting or not self.rows:
            sys.exit(f"dense: dense-{name} is not complete: {', '.join(wanting) or 'it has no rows'}")

    def first(self):
        return self.tables[self.metrics[0][0]]

    def row(self, metric, cell):
        return next(row for row in self.tables[metric]["rows"] if row["cell"] == cell)

    def trials(self, cell):
        """Of a cell, by seed."""
        return sorted((t for t in self.run.lines["trial"] if t["cell"] == cell), key=lambda t: t["seed"])

    def evaluations(self, cell):
        return [t["stages"]["evaluate"] for t in self.trials(cell)]

    def results(self, stages, **labels):
        """Metric -> values of the results of these stages whose labels include those."""
        found = {}
        for one in self.run.lines["result"]:
            if one["stage"] in stages and labels.items() <= one["labels"].items():
                found.setdefault(one["metric"], []).append((one["labels"], float(one["value"])))
        return found

    def constant(self):
        """Alignment ("" for the first) -> metric -> value of the constant predictor, the same in all trials."""
        out = {}
        stages = [stage for row in self.rows for stage in self.evaluations(row["cell"])]
        for metric, values in self.results(stages, predictor="constant").items():
            for labels, value in values:
                known = out.setdefault(labels.get("alignment", ""), {}).setdefault(metric, value)
                if not math.isclose(known, value, rel_tol=1e-6):
                    sys.exit(f"dense: {metric} of the constant predictor differs between trials: {known} and {value}")
        if "" not in out:
            sys.exit(f"dense: no trial of dense-{self.name} scored the constant predictor")
        return out


def paired_table(part):
    head, constant = ["position encoding"], part.constant()
    for i, (_, title, unit, more) in enumerate(part.metrics):
        head += [f"{title} {unit} {'↑' if more else '↓'}", "paired difference"]
        if i == 0:
            head.append("its 95 % interval")
    head += ["parameters", "ms a step"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in part.rows:
        cells = [prior_of(row)]
        for i, (metric, *_) in enumerate(part.metrics):
            mine = part.row(metric, row["cell"])
            paired = mine["pairs"] > 0
            cells.append(f"{fixed(mine['mean'])} ± {fixed(mine['std'])}")
            cells.append(f"{fixed(mine['difference'], 2, True)} ± {fixed(mine['difference_std'])}" if paired else "–")
            if i == 0:
                low, high = mine["difference_low"], mine["difference_high"]
                cells.append(interval(low, high, True) if paired else "–")
        lines.append("| " + " | ".join([*cells, f"{int(row['parameters']):,}", fixed(row["ms_per_step"], 1)]) + " |")
    for alignment, name in CONSTANT[part.name].items():
        cells = [f"*{name}*"]
        for i, (metric, *_) in enumerate(part.metrics):
            cells += [fixed(constant[alignment][metric]), "–"] + (["–"] if i == 0 else [])
        lines.append("| " + " | ".join([*cells, "–", "–"]) + " |")
    return lines


def against_constant(part):
    """A sentence: by how much the worst model is better than the constant predictors, or that it is not."""
    metric, title, unit, more = part.metrics[0]
    sign = 1 if more else -1
    best = max(sign * values[metric] for values in part.constant().values() if metric in values)
    seeds = [(sign * float(v["value"]) - best, prior_of(row)) for row in part.rows for v in row["values"]]
    least, who = min(seeds)
    if least <= 0:
        return f"**Not every model is better than a constant answer**: the worst seed of {who} is not ({title})."
    return (
        f"The worst single model of all ({who}) is {least:.2f} {unit} of {title} better than the better constant "
        "answer: what is compared has been learned."
    )


def curve_table(part):
    """The mean over the seeds at each validation."""
    cells = part.curves["cells"]
    epochs = [f"{float(e):g}" for e in cells[0]["epoch"]] if cells else []
    lines = ["| position encoding | " + " | ".join(epochs) + " |", "|---" * (1 + len(epochs)) + "|"]
    names = {row["cell"]: prior_of(row) for row in part.rows}
    for cell in cells:
        lines.append(f"| {names[cell['cell']]} | " + " | ".join(fixed(v, 1) for v in cell["mean"]) + " |")
    return lines


def sweep_table(part):
    """The first metric by resolution, mean over the seeds."""
    trained = part.run.configuration()["input"]["options"]["size"]
    names = {row["cell"]: prior_of(row) for row in part.rows}
    found = {}
    for series in part.first()["sweep"]:
        for point in series["points"]:
            labels = json.loads(point["labels"])
            if set(labels) == {"resolution"}:
                found.setdefault(series["cell"], {})[labels["resolution"]] = point["mean"]
    sizes = sorted(next(iter(found.values())))
    head = [f"**{size}**" if size == trained else str(size) for size in sizes]
    lines = ["| position encoding | " + " | ".join(head) + " |", "|---" * (1 + len(sizes)) + "|"]
    for cell, means in found.items():
        lines.append(f"| {names[cell]} | " + " | ".join(fixed(means[size], 1) for size in sizes) + " |")
    return lines


def swatch(color, side=12):
    """A PNG of one color, "#rrggbb"."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes.fromhex(color[1:]) * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def about_pictures(part):
    """The document of the pictures of any trial."""
    return json.loads(next(iter(sorted((part.folder / f"{part.name}-pictures").glob("*-pictures.json")))).read_text())


def class_table(part, beside):
    """Mean IoU of each class, with its color in the pictures."""
    resolution = about_pictures(part)["labels"]["resolution"]
    columns = []
    for row in part.rows:
        values = {}
        for labels, value in part.results(part.evaluations(row["cell"]), resolution=resolution).get("iou", []):
            values.setdefault(labels["class"], []).append(value)
        columns.append(values)
    head = ["", "class", *map(prior_of, part.rows)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for one in about_pictures(part)["classes"]:
        name = f"color-{one['color'][1:]}.png"
        (beside / name).write_bytes(swatch(one["color"]))
        means = [fixed(statistics.mean(c[one["name"]]), 1) if one["name"] in c else "–" for c in columns]
        lines.append("| " + " | ".join([f"![{one['color']}]({beside.name}/{name})", one["name"], *means]) + " |")
    return lines


def picture_table(part, beside):
    """The same images, a row for each prior; copies the files."""
    known = {one["slot"] for one in about_pictures(part)["pictures"]}
    shown = [number for number in SHOWN if f"picture-{number}" in known]
    head = ["position encoding", *(f"image {number}" for number in shown)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in part.rows:
        prior, trial = prior_of(row), part.trials(row["cell"])[0]["trial"]
        cells = [prior]
        for number in shown:
            name = f"{part.name}-{prior.replace(' + ', '-')}-{number}.png"
            source = part.folder / f"{part.name}-pictures" / f"trial-{trial}-evaluate-picture-{number}.png"
            shutil.copyfile(source, beside / name)
            cells.append(f"![{prior}, image {number}: input, prediction, target, error]({beside.name}/{name})")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def settings(part):
    config = part.run.configuration()

    def text(options):
        return ", ".join(f"{key} {value}" for key, value in sorted(options.items()))

    words = [f"{config['dataset']['id']} ({text(config['dataset'].get('options', {}))})"]
    for key in ("input", "augmentation", "decoder", "model", "recipe"):
        words.append(f"{key} {config[key]['id']} ({text(config[key].get('options', {}))})")
    seeds = ", ".join(map(str, part.run.specification["replicates"]["seed"]))
    return f"- {part.name}: {'; '.join(words)}; seeds {seeds}"


def machine(parts, revision):
    found = parts[0].run.environments()
    spans = [part.run.span() for part in parts]
    start, end = min(s for s, _ in spans), max(e for _, e in spans)
    return [
        f"- {', '.join(sorted(found['device_name']))}, {', '.join(sorted(found['threads']))} thread a trial; "
        f"{', '.join(sorted(found['build']))}",
        f"- {sum(len(part.run.lines['trial']) for part in parts)} trials, from {start:%Y-%m-%d %H:%M} to "
        f"{end:%Y-%m-%d %H:%M} UTC ({(end - start).total_seconds() / 60:.0f} minutes)",
        f"- revision {revision}",
    ]


def page(folder, beside, revision):
    parts = [Part(folder, name) for name in METRICS]
    segmentation, depth = parts
    lines = [
        "# Segmentation and depth",
        "",
        "Written by `make dense` (`tools/dense`) from runs of `examples/dense`: do not edit. Scenes that "
        "`locus data make fashion-scenes` composes of Fashion-MNIST, in the formats of ADE20K and Hypersim. Small models, a "
        "few hundred images, one short protocol for all and tuned for none: it shows that both tasks run from end to end "
        "and what position encodings change at once, not what the papers claim of large models.",
    ]
    explained = (
        "Mean ± sample deviation over the seeds, on the test split; differences are to `none`, paired by seed, mean ± "
        "sample deviation. Rows in italics answer every pixel alike."
    )
    for part in parts:
        title = part.metrics[0][1]
        lines += ["", f"## {part.name.capitalize()}", "", explained, "", *paired_table(part)]
        lines += ["", against_constant(part)]
        if part is depth:
            lines += ["", "Every image's prediction is fitted by scale and shift before it is scored."]
        lines += ["", f"### While it learns: {title} on validation, by epoch", "", *curve_table(part)]
        lines += ["", f"### {title} by resolution of the test images", "", *sweep_table(part)]
    lines += [
        "",
        "## IoU of each class",
        "",
        "Mean over the seeds, in %; the colors are those of the pictures.",
        "",
        *class_table(segmentation, beside),
        "",
        "## Pictures",
        "",
        "Of the first seed: input, prediction, target, error. Masks: right pixels gray, wrong ones red, unlabeled ones black.",
        "",
        *picture_table(segmentation, beside),
        "",
        "Depth: prediction (fitted) and target share their colors, the error has its own; bars say what the ends are.",
        "",
        *picture_table(depth, beside),
        "",
        "## Settings",
        "",
        *map(settings, parts),
        "",
        "## Machine",
        "",
        *machine(parts, revision),
        "",
        "## Again",
        "",
        "```sh",
        "make dense",
        "```",
        "",
    ]
    return "\n".join(lines)


def main(arguments):
    if arguments[:1] == ["metrics"]:
        for name, metrics in METRICS.items():
            for metric, *_ in metrics:
                print(name, metric)
    elif arguments[:1] == ["page"] and len(arguments) == 4:
        target = pathlib.Path(arguments[2])
        beside = target.with_suffix("")
        beside.mkdir(parents=True, exist_ok=True)
        for old in beside.glob("*.png"):
            old.unlink()
        text = page(pathlib.Path(arguments[1]), beside, arguments[3])
        new = target.with_name(target.name + ".new")
        new.write_text(text)
        new.rename(target)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

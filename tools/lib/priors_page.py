#!/usr/bin/env python3
"""What tools/priors knows about tables: which models to time, and the page of results. Every statistic is the server's (`locus leaderboard --json`).

    priors_page.py cases TABLE EXPORT                               models to time, for priors_bench --cases
    priors_page.py shape TABLE EXPORT                               their shape, as arguments of priors_bench
    priors_page.py page TABLE EXPORT STEPS|none SPEC REVISION       the page, Markdown

TABLE: `locus leaderboard --json`; EXPORT: `locus export --without-points`; STEPS: `priors_bench --json`.
"""

import collections
import datetime
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Run:
    """An experiment: its table and what was exported of it."""

    def __init__(self, table, export):
        self.table = json.loads(pathlib.Path(table).read_text())
        self.lines = collections.defaultdict(list)
        for line in pathlib.Path(export).read_text().splitlines():
            record = json.loads(line)
            self.lines[record["type"]].append(record)
        if not self.lines["end"]:
            sys.exit("priors: the export is not whole")
        self.experiment = self.lines["experiment"][0]
        self.specification = self.experiment["specification"]
        self.train = {s["stage"]: s for s in self.lines["stage"] if s["kind"] == "train"}

    def priors(self, row):
        """The priors of a row as [{id, options}], in order."""
        assignment = json.loads(row["assignment_json"])
        if set(assignment) != {"prior"}:
            sys.exit("priors: only the prior may differ between the cells")
        return [{"id": name, "options": options} for each in assignment["prior"] for name, options in each.items()]

    def configuration(self):
        return next(iter(self.train.values()))["config"]

    def tokens(self):
        config = self.configuration()
        catalog = json.loads((ROOT / "engine/catalog.json").read_text())["items"]
        extent = next(i for i in catalog if i["kind"] == "dataset" and i["id"] == config["dataset"]["id"])["facts"][
            "extent"
        ]
        return [side // config["model"]["options"]["patch"] for side in extent]

    def environments(self):
        """The environments of the succeeded training attempts, as counts of each value of a field."""
        found = collections.defaultdict(collections.Counter)
        for attempt in self.lines["attempt"]:
            if attempt["stage"] in self.train and attempt["state"] == "succeeded":
                for key, value in attempt["environment"].items():
                    found[key][str(value)] += 1
        return found

    def path(self, row):
        """The execution paths that the row's trainings took."""
        trials = [t for t in self.lines["trial"] if t["cell"] == row["cell"]]
        stages = {t["stages"].get("train") for t in trials}
        return sorted(
            {
                a["environment"]["path"]
                for a in self.lines["attempt"]
                if a["stage"] in stages and a["state"] == "succeeded" and "path" in a["environment"]
            }
        )

    def span(self):
        """First start and last end of an attempt."""
        ends = [a["ended_us"] for a in self.lines["attempt"] if a.get("ended_us")]
        starts = [a["started_us"] for a in self.lines["attempt"] if a.get("started_us")]
        return [datetime.datetime.fromtimestamp(t / 1e6, datetime.timezone.utc) for t in (min(starts), max(ends))]


def number(value):
    return float(value)  # "NaN" stays one


def fixed(value, digits=2, sign=False):
    value = number(value)
    return "–" if math.isnan(value) else f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def interval(low, high, sign=False):
    return "–" if math.isnan(number(low)) else f"{fixed(low, 2, sign)} to {fixed(high, 2, sign)}"


def p_text(value):
    value = number(value)
    return "–" if math.isnan(value) else f"{value:.4f}".rstrip("0").rstrip(".")


def ratio_text(steps, label, tokens):
    for row in steps:
        if row["label"] == label and row["auto"] and row["tokens"] == tokens:
            ratio = row["ratio"]
            return f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
    return "–"


def table_of(run, steps):
    unit = run.table["unit"]
    head = [
        "prior",
        "n",
        f"{run.table['metric']} {unit}, mean ± std",
        "95 % interval",
        "paired difference",
        "its 95 % interval",
        "p exact (floor)",
        "p Holm",
        "parameters added",
        "path",
    ] + (["step time / `none`"] if steps else [])
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    patches = math.prod(run.tokens())
    for row in run.table["rows"]:
        paired = row["pairs"] > 0
        cells = [
            row["label"] + (" (baseline)" if row["baseline"] else ""),
            str(row["n"]) + (f", {len(row['missing_seeds'])} missing" if row["missing_seeds"] else ""),
            f"{fixed(row['mean'])} ± {fixed(row['std'])}",
            interval(row["ci_low"], row["ci_high"]),
            fixed(row["difference"], 2, True) if paired else "–",
            interval(row["difference_low"], row["difference_high"], True) if paired else "–",
            f"{p_text(row['p_sign_flip'])} ({p_text(row['p_floor'])})" if paired else "–",
            p_text(row["p_holm"]) if paired else "–",
            (
                f"{int(row['parameters_added']):,}" if int(row["parameters_added"]) >= 0 else "–"
            ),  # -1: nothing trained yet
            ", ".join(run.path(row)) or "–",
        ]
        lines.append("| " + " | ".join(cells + ([ratio_text(steps, row["label"], patches)] if steps else [])) + " |")
    return "\n".join(lines)


def reading(run):
    """What so few seeds can show, from the numbers of the table."""
    rows = [r for r in run.table["rows"] if r["pairs"] > 0]
    if not rows:
        return ["No row has a pair with the baseline yet."]
    floor = min(number(r["p_floor"]) for r in rows)
    clear = [r for r in rows if number(r["difference_low"]) > 0 or number(r["difference_high"]) < 0]
    better = [r for r in clear if (number(r["difference"]) > 0) == (run.table["direction"] == "max")]
    seeds = max(r["pairs"] for r in rows)
    verdict = "small p are within reach"
    if floor > 0.05:
        verdict = "no row can be significant at 0.05 by it, however large its difference"
    return [
        f"- **What {seeds} seeds cannot show.** The exact sign-flip test has {2 ** seeds} equally likely outcomes, "
        f"so its p is never below {p_text(floor)}: {verdict}, and Holm's correction over {len(rows)} rows makes "
        "that worse. Two rows whose means lie within a standard deviation of each other are not ranked by this table.",
        "- **What they can show.** The sign and rough size of large differences. "
        f"In {len(clear)} of {len(rows)} rows the 95 % interval of the paired difference leaves out 0 "
        f"({len(better)} better than the baseline, {len(clear) - len(better)} worse). That interval assumes normal "
        f"differences and is not corrected for {len(rows)} comparisons: about {0.05 * len(rows):.1f} rows would do "
        "so by chance if nothing differed.",
        "- Differences are paired: trials of equal seed share data order, augmentation and every common initial weight.",
        "- One protocol for all, tuned for none: a prior that wants another learning rate, a longer training or a "
        "pretrained model shows less here than it can. The model is tiny and the training short; the papers' claims "
        "concern models and data sets far larger. The differences say what a prior gives at once, where data are few.",
    ]


def missing(run):
    """Why trials have no result, a line for each reason."""
    reasons = collections.defaultdict(set)
    labels = {cell["cell"]: cell["label"] for cell in run.lines["cell"]}
    stages = {s["stage"]: s for s in run.lines["stage"]}
    for trial in run.lines["trial"]:
        stage = stages.get(trial["stages"].get("train"), {})
        if stage.get("state") == "failed":
            reasons[stage["reason"]].add(labels.get(trial["cell"], f"cell {trial['cell']}"))
    return [f"- {', '.join(sorted(cells))}: {reason}" for reason, cells in sorted(reasons.items())]


def settings(run):
    config = run.configuration()

    def text(options):
        return ", ".join(f"{k} {v}" for k, v in sorted(options.items()))

    grid, reduce = run.tokens(), run.specification["metric"].get("reduce", "last")
    return [
        f"- data: {config['dataset']['id']}; model: {config['model']['id']}, {text(config['model']['options'])}: "
        f"{grid[0]} x {grid[1]} patches",
        f"- training: {config['recipe']['id']}, {text(config['recipe']['options'])}",
        f"- seeds: {', '.join(map(str, run.specification['replicates']['seed']))}; reported on the "
        f"{run.table['split']} split, the {reduce} value",
    ]


def machine(run, steps):
    found = run.environments()

    def values(key):
        return ", ".join(sorted(found[key])) or "unknown"

    start, end = run.span()
    lines = [
        f"- trials: {values('device_name')} ({values('device')}), {values('threads')} thread a trial, "
        f"{values('dtype')}; {values('build')}",
        f"- run from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC; catalog "
        f"{run.experiment['catalog_digest'][:12]}",
    ]
    if not steps:
        return lines + ["- step times: not measured yet (`tools/priors` measures them once the machine is free)"]
    s = steps["settings"]
    shape = ", ".join(f"{key} {s[key]}" for key in ("batch", "dim", "depth", "heads"))
    return lines + [
        f"- step times: {steps['cpu']}, {s['threads']} thread, {shape}: forward, backward and optimizer, median and "
        f"quartiles of {s['rounds']} interleaved rounds, each against `none` in the same round; measured apart from "
        "the trials, nothing else running"
    ]


def page(run, steps, spec, revision):
    trials, done = len(run.lines["trial"]), sum(r["n"] for r in run.table["rows"])
    table, better = run.table, "higher" if run.table["direction"] == "max" else "lower"
    parts = [
        "# Every prior on one protocol",
        "",
        f"Written by `make priors` (`tools/priors`) from a run of `{spec}`: do not edit. What each prior is: "
        "[priors.md](../priors.md).",
        "",
    ]
    if done < trials:
        parts += [f"**Not finished**: {done} of {trials} trials have a result; rows without one are missing.", ""]
        parts += missing(run) + [""]
    parts += [
        f"Metric: {table['metric']} ({table['unit']}) on {table['split']}, {better} is better; differences are "
        f"paired, by seed, with `{table['baseline']}`.",
        "",
        table_of(run, steps["rows"] if steps else []),
    ]
    for title, lines in (
        ("How to read it", reading(run)),
        ("Settings", settings(run)),
        ("Machine", machine(run, steps) + [f"- revision {revision}"]),
        ("Again", ["```sh", "make priors", "```"]),
    ):
        parts += ["", "## " + title, ""] + lines
    return "\n".join(parts)


def main(arguments):
    what, run = arguments[0], Run(arguments[1], arguments[2])
    if what == "cases":
        print(json.dumps([{"label": row["label"], "priors": run.priors(row)} for row in run.table["rows"]], indent=1))
    elif what == "shape":
        options = run.configuration()["model"]["options"]
        batch = run.configuration()["recipe"]["options"]["batch"]
        print(
            f"--tokens={math.prod(run.tokens())} --batch={batch}",
            *(f"--{key}={options[key]}" for key in ("dim", "depth", "heads")),
        )
    elif what == "page":
        steps = None if arguments[3] == "none" else json.loads(pathlib.Path(arguments[3]).read_text())
        print(page(run, steps, arguments[4], arguments[5]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
"""What tools/search knows about tables: which cells are compared, and the page of results. Every statistic is the server's.

    search_page.py pairs FOLDER             number, cell without tuning and cell with it, a line each
    search_page.py page FOLDER REVISION     the page, Markdown

FOLDER holds `locus leaderboard --json`, `locus export` and `locus compare --json` of both experiments and
`locus search --json` of the tuned one, as tools/search names them.
"""

import json
import math
import pathlib
import sys

from priors_page import Run, fixed, interval, p_text


def prior(row):
    return json.dumps(json.loads(row["assignment_json"])["prior"], sort_keys=True)


class Results:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tuned, self.untuned = (
            Run(self.folder / f"{name}.json", self.folder / f"{name}.jsonl") for name in ("tuned", "untuned")
        )
        for run in (self.tuned, self.untuned):
            table = run.table
            wanting = [row["label"] for row in table["rows"] if row["missing_seeds"] or not row["values"]]
            if wanting or not table["rows"]:
                sys.exit(f"search: {table['experiment']} is not complete: {', '.join(wanting) or 'it has no rows'}")
            if table["split"] != "test":
                sys.exit(
                    f"search: {table['experiment']} is read on {table['split']}; a tuned number counts on test alone"
                )
        self.search = json.loads((self.folder / "search.json").read_text())

    def rows(self):
        """(untuned row, tuned row) of each encoding, in the order of the specification."""
        tuned = {prior(row): row for row in self.tuned.table["rows"]}
        untuned = sorted(self.untuned.table["rows"], key=lambda row: row["cell"])
        missing = [row["label"] for row in untuned if prior(row) not in tuned]
        if missing:
            sys.exit(f"search: nothing tuned is there for {', '.join(missing)}")
        return [(row, tuned[prior(row)]) for row in untuned]

    def pairs(self):
        return [
            (
                f"{self.untuned.table['experiment']}/cells/{a['cell']}",
                f"{self.tuned.table['experiment']}/cells/{b['cell']}",
            )
            for a, b in self.rows()
        ]

    def change(self, number):
        """Tuned minus untuned, by seed: the server's paired difference."""
        comparison = json.loads((self.folder / f"pair-{number}.json").read_text())
        return next(one for one in comparison["paired"] if one["item"] == 1)

    def choices(self):
        phase = next(phase for phase in self.search["phases"] if phase["choices"])
        found = {}
        for choice in phase["choices"]:
            found[json.dumps(json.loads(choice["group_json"])["prior"], sort_keys=True)] = choice
        return phase, found


def changed(results):
    lines = [
        "| encoding | untuned, mean ± std | tuned, mean ± std | tuned − untuned, paired | its 95 % interval | p exact (floor) |",
        "|---" * 6 + "|",
    ]
    for number, (without, tuned) in enumerate(results.rows()):
        change = results.change(number)
        lines.append(
            f"| {tuned['label']} | {fixed(without['mean'])} ± {fixed(without['std'])} "
            f"| {fixed(tuned['mean'])} ± {fixed(tuned['std'])} "
            f"| {fixed(change['mean'], 2, True)} | {interval(change['low'], change['high'], True)} "
            f"| {p_text(change['p_sign_flip'])} ({p_text(change['p_floor'])}) |"
        )
    return lines


def against_baseline(results):
    """Each encoding's difference from the baseline, untuned beside tuned, and their order."""
    lines = [
        "| encoding | untuned: difference | its 95 % interval | p Holm | place | tuned: difference | its 95 % interval "
        "| p Holm | place |",
        "|---" * 9 + "|",
    ]
    places = [
        {row["cell"]: place + 1 for place, row in enumerate(run.table["rows"])}
        for run in (results.untuned, results.tuned)
    ]
    for pair in results.rows():
        cells = []
        for row, place in zip(pair, places):
            paired = row["pairs"] > 0
            cells += [
                fixed(row["difference"], 2, True) if paired else "baseline",
                interval(row["difference_low"], row["difference_high"], True) if paired else "–",
                p_text(row["p_holm"]) if paired else "–",
                str(place[row["cell"]]),
            ]
        lines.append("| " + " | ".join([pair[1]["label"], *cells]) + " |")
    return lines


def chosen(results):
    phase, found = results.choices()
    paths = sorted({path for one in found.values() for path in json.loads(one["values_json"] or "{}")})
    lines = [
        "| encoding | "
        + " | ".join(paths)
        + " | validation top1 % at the last rung | ahead of the next by | error of the images |",
        "|---" * (4 + len(paths)) + "|",
    ]
    for _, tuned in results.rows():
        one = found[prior(tuned)]
        values = json.loads(one["values_json"] or "{}")
        numbers = [fixed(one[name]) if name in one else "–" for name in ("value", "margin", "image_error")]
        lines.append("| " + " | ".join([tuned["label"], *(f"{values[path]:g}" for path in paths), *numbers]) + " |")
    return lines


def ladder(phase):
    lines = [f"| {phase['resource']} | cells sent | with a value | went on | failed |", "|---" * 5 + "|"]
    for bracket in phase["brackets"]:
        for rung in bracket["rungs"]:
            lines.append(
                f"| {rung['rung']} | {rung['sent']} | {rung['there']} | {rung['advanced']} | {rung['failed']} |"
            )
    return lines


def reading(results):
    phase, found = results.choices()
    seeds = ", ".join(
        str(value["seed"]) for value in sorted(results.tuned.table["rows"][0]["values"], key=lambda v: int(v["seed"]))
    )
    close = sum(
        one["margin"] < one["image_error"] for one in found.values() if "margin" in one and "image_error" in one
    )
    separate = [results.change(number) for number, _ in enumerate(results.rows())]
    apart = sum(
        float(one["low"]) > 0 or float(one["high"]) < 0 for one in separate if not math.isnan(float(one["low"]))
    )
    return [
        f"- Every encoding met the same {phase['proposals']} settings under the same rule, so none had more tuning "
        "than another. A setting was chosen by top1 on validation alone, from one seed.",
        f"- The number it was chosen by is no result: the best of {phase['proposals']} reads high by chance alone. "
        f"Both tables are of test, from seeds {seeds}, of which none took part in choosing.",
        f"- Tuning moved {apart} of {len(separate)} encodings by more than the 95 % interval of the paired difference; "
        "pairs share data order and initial weights.",
        f"- In {close} of {len(found)} encodings the chosen setting leads the next by less than the error of the "
        "validation images: another might as well have been chosen.",
        "- Untuned means the learning rate and weight decay that `examples/fashion-mnist-priors.yaml` has for all "
        "encodings, with as many epochs and images as the tuned ones had.",
    ]


def machine(results, revision):
    runs = (results.tuned, results.untuned)
    found = results.tuned.environments()
    spans = [run.span() for run in runs]
    start, end = min(s for s, _ in spans), max(e for _, e in spans)
    trained = sum(len([a for a in run.lines["attempt"] if a["stage"] in run.train]) for run in runs)

    def text(key):
        return ", ".join(sorted(found[key])) or "unknown"

    return [
        f"- {text('device_name')} ({text('device')}), {text('threads')} thread a trial, {text('dtype')}; "
        f"{text('build')}",
        f"- {results.search['decided']} decisions and {trained} attempts at trainings, from {start:%Y-%m-%d %H:%M} to "
        f"{end:%Y-%m-%d %H:%M} UTC ({(end - start).total_seconds() / 60:.0f} minutes)",
        f"- revision {revision}",
    ]


def page(results, revision):
    phase, _ = results.choices()
    parts = [
        "# Tuned position encodings",
        "",
        "Written by `make search` (`tools/search`) from runs of `examples/searches/halving.yaml` and `untuned.yaml`: do not edit.",
        "",
        "top1 (%) on test.",
        "",
        *changed(results),
    ]
    for title, lines in (
        ("What it changes between encodings", against_baseline(results)),
        ("How to read it", reading(results)),
        ("Chosen settings", chosen(results)),
        ("Rungs", ladder(phase)),
        ("Machine", machine(results, revision)),
        ("Again", ["```sh", "make search", "```"]),
    ):
        parts += ["", "## " + title, "", *lines]
    return "\n".join(parts)


def main(arguments):
    what = arguments[0] if arguments else ""
    if what == "pairs":
        for number, (without, tuned) in enumerate(Results(arguments[1]).pairs()):
            print(number, without, tuned)
    elif what == "page":
        print(page(Results(arguments[1]), arguments[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

"""A trained model as timm reads it, with a card that says where its numbers come from."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Mapping

from locus._wire import refuse
from locus.errors import FailedPrecondition
from locus.experiment import Experiment
from locus.files import save
from locus.results import Leaderboard, LeaderboardRow
from locus.trials import StageDetail, TrialDetail

_SLOT = "checkpoint"  # under which a training gives its model
_IMAGENET = {"mean": [0.485, 0.456, 0.406], "deviation": [0.229, 0.224, 0.225]}
_LONGEST = 100 << 20  # of the header of a safetensors file


def write_model(
    experiment: Experiment,
    number: int,
    folder: str | os.PathLike[str],
    *,
    drop_priors: bool = False,
    image_size: int | None = None,
    program: str = "locus",
) -> list[Path]:
    """Writes the model that a trial trained: model.safetensors under timm's names, config.json and README.md, its card.

    `timm.create_model("local-dir:FOLDER", pretrained=True)` is that model; without `pretrained` timm builds one of
    random weights. `timm.data.resolve_model_data_config` says how the training prepared images, where timm can. The
    names are written by `locus weights export`, so the programs must be installed here. `drop_priors` leaves out the
    parameters of priors that timm has no names for; the model then computes something else, and the card says so.
    `image_size` is asked of a model whose files do not tell it.
    FailedPrecondition where the trial has no model yet, or one that timm has no place for.
    """
    trial = experiment.trial(number)
    stage = _trained(trial)
    digest = next(one.sha256 for one in stage.outputs if one.slot == _SLOT)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        model, named = Path(scratch) / "model.safetensors", Path(scratch) / "named.safetensors"
        experiment.client.download(digest, model)
        _export(program, model, named, drop_priors)
        shapes = tensor_shapes(named)
        facts = experiment.client.catalog().item("dataset", stage.config["dataset"]["id"]).facts
        config = timm_config(shapes, stage.config, image_size, facts)
        exported = hashlib.sha256(named.read_bytes()).hexdigest()
        os.replace(named, target / "model.safetensors")
    text = card(trial, stage, experiment.leaderboard(), model=digest, file=exported, dropped=drop_priors)
    return [
        target / "model.safetensors",
        save(target / "config.json", [(json.dumps(config, indent=2) + "\n").encode()]),
        save(target / "README.md", [text.encode()]),
    ]


def _trained(trial: TrialDetail) -> StageDetail:
    for stage in trial.stages:
        if stage.kind == "train" and any(one.slot == _SLOT for one in stage.outputs):
            return stage
    raise FailedPrecondition(
        f"{trial.name} has no trained model: it is {trial.state}; wait for its training, or name another trial",
        code="FAILED_PRECONDITION",
        reason="INVALID_ARGUMENT",
    )


def _export(program: str, model: Path, out: Path, drop_priors: bool) -> None:
    found = shutil.which(program)
    if found is None:
        refuse(
            f"write_model() needs the program `{program}`, which is not on the PATH: install the wheel that carries "
            "the programs, or name it with program=",
            "program",
        )
    line = [found, "weights", "export", str(model), "--out", str(out), "--json"]
    line += ["--drop-priors"] if drop_priors else []
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    try:
        why = json.loads(done.stderr)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        why = done.stderr.strip() or f"{program} ended with {done.returncode}"
    raise FailedPrecondition(str(why), code="FAILED_PRECONDITION", reason="INVALID_ARGUMENT")


def tensor_shapes(file: Path) -> dict[str, list[int]]:
    """The names and shapes of a safetensors file, by its header."""
    with file.open("rb") as handle:
        (length,) = struct.unpack("<Q", handle.read(8))
        if length > _LONGEST:
            refuse(f"{file} is no safetensors file: its header would have {length} bytes")
        header = json.loads(handle.read(length))
    return {name: list(one["shape"]) for name, one in header.items() if name != "__metadata__"}


def _preparation(config: Mapping[str, Any], facts: Mapping[str, Any], channels: int) -> dict[str, Any]:
    """How images become what the model takes, as timm says it; `facts`: of the data set."""
    options = (config.get("input") or {}).get("options", {})
    alike = {"half": (0.5, 0.5), "none": (0.0, 1.0)}
    named = options.get("normalization", "dataset")
    if named in alike:
        mean, deviation = ([number] * channels for number in alike[named])
    else:
        known = facts.get("normalization", _IMAGENET) if named == "dataset" else _IMAGENET
        mean, deviation = known["mean"], known["deviation"]
    out = {"mean": mean, "std": deviation, "crop_pct": 1.0}
    if "margin" in options:
        grows = {"none": False, "256/224-up-to-224": options.get("size", 224) <= 224}
        out["crop_pct"] = 0.875 if grows.get(options["margin"], True) else 1.0
    if "interpolation" in options:
        out["interpolation"] = options["interpolation"]
    return out


def timm_config(
    shapes: Mapping[str, list[int]], config: Mapping[str, Any], image_size: int | None, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """timm's config.json for a plain Vision Transformer: what differs from its base model is in `model_args`. `facts` are
    those of the catalog's data set."""
    dim, channels, patch = shapes["patch_embed.proj.weight"][:3]
    options = config["model"]["options"]
    classes = shapes["head.weight"][0] if "head.weight" in shapes else 0
    registers = shapes["reg_token"][1] if "reg_token" in shapes else 0
    prefix, rows = int("cls_token" in shapes), shapes["pos_embed"][1] if "pos_embed" in shapes else 0
    side = math.isqrt(rows)
    patches_alone = side * side == rows
    if rows and not patches_alone:
        side = math.isqrt(rows - prefix)
    if image_size is None:
        if not rows:
            refuse("the model has no table of positions that tells its image size; say image_size=", "image_size")
        image_size = side * patch
    pool = "token" if options.get("pool", "cls") == "cls" and prefix else "avg"
    arguments: dict[str, Any] = {
        "class_token": bool(prefix),
        "depth": 1 + max(int(name.split(".")[1]) for name in shapes if name.startswith("blocks.")),
        "embed_dim": dim,
        "fc_norm": "fc_norm.weight" in shapes,
        "global_pool": pool,
        "img_size": image_size,
        "in_chans": channels,
        "mlp_ratio": shapes["blocks.0.mlp.fc1.weight"][0] / dim,
        "no_embed_class": bool(rows) and patches_alone and bool(prefix),
        "num_heads": options["heads"],
        "patch_size": patch,
        "pos_embed": "learn" if rows else "none",
        "qkv_bias": "blocks.0.attn.qkv.bias" in shapes,
        "reg_tokens": registers,
    }
    if "blocks.0.ls1.gamma" in shapes:
        arguments["init_values"] = 1e-5  # any: the file has the values
    return {
        "architecture": "vit_base_patch16_224",
        "num_classes": classes,
        "num_features": dim,
        "global_pool": pool,
        "model_args": arguments,
        "pretrained_cfg": {
            "input_size": [channels, image_size, image_size],
            "num_classes": classes,
            "first_conv": "patch_embed.proj",
            "classifier": "head",
            **_preparation(config, facts, channels),
        },
    }


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _row_lines(board: Leaderboard, row: LeaderboardRow, seed: int) -> list[str]:
    own = row.values.get(seed, math.nan)
    compared = "it is the baseline" if row.baseline else _number(row.difference)
    measured = f"{board.metric}, {board.split}"
    return [
        f"| setting | {measured} | over seeds | n | this seed | difference from {row.baseline_label or 'others'} | p |",
        "|---|---|---|---|---|---|---|",
        f"| {row.label} | {_number(row.mean)} | ± {_number(row.std)} | {row.n} | {_number(own)} | {compared} | "
        f"{'' if math.isnan(row.p_sign_flip) else f'{row.p_sign_flip:.3g}'} |",
    ]


def card(
    trial: TrialDetail, stage: StageDetail, board: Leaderboard, *, model: str, file: str, dropped: bool
) -> str:
    """The card in Markdown: experiment, seed, row of the table and digests."""
    row = next((one for one in board if one.cell == trial.trial.cell), None)
    priors = ", ".join(one["id"] for one in stage.config.get("priors", [])) or "none"
    lines = [
        "---",
        "library_name: timm",
        "tags: [image-classification, locus, position-encoding]",
        "---",
        f"# {trial.name}: {trial.trial.cell_label}, seed {trial.trial.seed}",
        "",
        "One of the models of a comparison of position encodings, trained with Locus. It is one seed of its setting: "
        "the table's row, over all seeds, is what may be quoted.",
        "",
        *([] if row is None else _row_lines(board, row, trial.trial.seed)),
        "",
        f"- Experiment: `{trial.experiment}`, trial {trial.trial.ordinal}, seed {trial.trial.seed}",
        f"- Position encoding: {priors}",
        f"- Training, by the digest of its whole configuration: `{stage.identity}`",
        f"- Model as it was trained, SHA-256: `{model}`",
        f"- `model.safetensors`, the same under timm's names, SHA-256: `{file}`",
        '- In timm: `timm.create_model("local-dir:FOLDER", pretrained=True)`, `FOLDER` being that of this file; images '
        "as `timm.data.resolve_model_data_config` says of it.",
    ]
    if dropped:
        lines.append("- **Parameters of the position encoding were left out: it is not the model that was measured.**")
    elif not {one["id"] for one in stage.config.get("priors", [])} <= {"learned-absolute", "none"}:
        lines.append("- timm does not have this position encoding: its forward pass is not the one that was measured.")
    lines += ["", "## Configuration of the training", "", "```json", json.dumps(stage.config, indent=1), "```", ""]
    return "\n".join(lines)

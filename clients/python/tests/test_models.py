"""Trained models for timm: what is written is what the trial trained, and the card says where it comes from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from conftest import BIN, SMALL

import locus
from locus.interchange.models import tensor_shapes, timm_config, write_model

PROGRAM = str(BIN / "locus")


@pytest.fixture(scope="module")
def trained(service) -> locus.Experiment:  # type: ignore[no-untyped-def]
    experiment = locus.connect(service.address).submit({**SMALL, "name": "models"})
    experiment.wait(progress=False)
    return experiment


def of(experiment: locus.Experiment, label: str) -> int:
    return next(one.ordinal for one in experiment.trials() if label in one.cell_label)


def test_a_model_is_written_under_timms_names_with_its_configuration(trained: locus.Experiment, tmp_path: Path) -> None:
    number = of(trained, "learned-absolute")
    model, config, _ = write_model(trained, number, tmp_path / "model", program=PROGRAM)
    shapes = tensor_shapes(model)
    assert shapes["patch_embed.proj.weight"] == [16, 1, 14, 14] and shapes["head.weight"] == [10, 16]
    said = json.loads(config.read_text())
    arguments = said["model_args"]
    assert said["num_classes"] == 10 and arguments["img_size"] == 28 and arguments["depth"] == 1
    assert arguments["num_heads"] == 2 and arguments["pos_embed"] == "learn"
    prepared = said["pretrained_cfg"]
    assert (prepared["mean"], prepared["std"], prepared["crop_pct"]) == ([0.286], [0.353], 1.0)
    assert sorted(path.name for path in model.parent.iterdir()) == ["README.md", "config.json", "model.safetensors"]


def test_the_card_names_experiment_seed_row_and_digests(trained: locus.Experiment, tmp_path: Path) -> None:
    number = of(trained, "learned-absolute")
    model, _, readme = write_model(trained, number, tmp_path, program=PROGRAM)
    text = readme.read_text()
    detail = trained.trial(number)
    row = next(one for one in trained.leaderboard() if one.cell == detail.trial.cell)
    assert f"`models`, trial {number}, seed {detail.trial.seed}" in text
    assert f"| {row.label} | {row.mean:.2f} | ± {row.std:.2f} | 2 | {row.values[detail.trial.seed]:.2f} |" in text
    assert hashlib.sha256(model.read_bytes()).hexdigest() in text
    train = next(stage for stage in detail.stages if stage.kind == "train")
    assert train.identity in text and train.outputs[0].sha256 in text


def test_an_image_size_that_no_file_tells_is_asked_for(trained: locus.Experiment, tmp_path: Path) -> None:
    number = of(trained, "none")
    with pytest.raises(locus.InvalidArgument, match="say image_size="):
        write_model(trained, number, tmp_path, program=PROGRAM)
    config = json.loads(write_model(trained, number, tmp_path, image_size=28, program=PROGRAM)[1].read_text())
    assert config["model_args"]["pos_embed"] == "none" and config["model_args"]["img_size"] == 28


def test_without_the_programs_it_says_where_they_are(trained: locus.Experiment, tmp_path: Path) -> None:
    with pytest.raises(locus.InvalidArgument, match="install the wheel that carries the programs"):
        write_model(trained, of(trained, "none"), tmp_path, program="no-such-locus")


def test_class_token_registers_and_layer_scale_are_said_to_timm() -> None:
    shapes = {
        "patch_embed.proj.weight": [64, 3, 16, 16],
        "cls_token": [1, 1, 64],
        "reg_token": [1, 4, 64],
        "pos_embed": [1, 196, 64],
        "blocks.0.ls1.gamma": [64],
        "blocks.0.attn.qkv.bias": [192],
        "blocks.0.mlp.fc1.weight": [256, 64],
        "blocks.11.norm1.weight": [64],
        "head.weight": [100, 64],
    }
    said = timm_config(shapes, {"model": {"options": {"heads": 2, "pool": "cls"}}}, None, {})["model_args"]
    assert said["class_token"] and said["no_embed_class"] and said["reg_tokens"] == 4 and said["img_size"] == 224
    assert said["depth"] == 12 and said["mlp_ratio"] == 4 and "init_values" in said and said["global_pool"] == "token"


@pytest.mark.parametrize(
    ("options", "facts", "said"),
    [
        ({}, {"normalization": {"mean": [0.1], "deviation": [0.2]}}, {"mean": [0.1], "std": [0.2], "crop_pct": 1.0}),
        ({"normalization": "half", "margin": "none"}, {}, {"mean": [0.5], "std": [0.5], "crop_pct": 1.0}),
        ({"normalization": "none", "margin": "256/224"}, {}, {"mean": [0.0], "std": [1.0], "crop_pct": 0.875}),
        ({"size": 384, "margin": "256/224-up-to-224"}, {}, {"mean": [0.485, 0.456, 0.406], "crop_pct": 1.0}),
        ({"interpolation": "bilinear"}, {}, {"std": [0.229, 0.224, 0.225], "interpolation": "bilinear"}),
    ],
)
def test_how_images_are_prepared_is_said_to_timm(
    options: dict[str, object], facts: dict[str, object], said: dict[str, object]
) -> None:
    shapes = {
        "patch_embed.proj.weight": [4, 1, 2, 2],
        "blocks.0.norm1.weight": [4],
        "blocks.0.mlp.fc1.weight": [16, 4],
        "pos_embed": [1, 4, 4],
    }
    config = {"model": {"options": {"heads": 1}}, "input": {"id": "resized", "options": options}}
    assert said.items() <= timm_config(shapes, config, None, facts)["pretrained_cfg"].items()

"""Profiles and certificates, without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import locus
from locus import trust


def _profile(folder: Path, name: str) -> None:
    here = folder / "config" / "locus" / "profiles" / name
    here.mkdir(parents=True)
    about = {"server": "gpu.example.org:7171", "role": "viewer", "name": "ada"}
    (here / "enrollment.json").write_text(json.dumps(about))
    for file in ("key", "certificate", "authority"):
        (here / f"{file}.pem").write_text("-----BEGIN NOTHING-----\n-----END NOTHING-----\n")


def test_a_profile_gives_server_and_identity(tmp_path: Path) -> None:
    _profile(tmp_path, "lab")
    server, identity = trust.profile("lab")
    assert server == "gpu.example.org:7171"
    assert isinstance(identity, trust.Identity)
    assert Path(identity.key).name == "key.pem"
    with locus.connect(profile="lab") as client:
        assert client.address == "gpu.example.org:7171" and client.identity == identity


def test_the_configuration_files_profile_is_for_those_who_name_no_server(tmp_path: Path) -> None:
    _profile(tmp_path, "lab")
    (tmp_path / "config" / "locus" / "config.yaml").write_text("profile: lab\n")
    with locus.connect() as client:
        assert client.address == "gpu.example.org:7171"
    with locus.connect("127.0.0.1:7171") as client:
        assert client.identity is None


def test_a_token_of_a_profile_is_shown_to_this_machine_alone(tmp_path: Path) -> None:
    here = tmp_path / "config" / "locus" / "profiles" / "here"
    here.mkdir(parents=True)
    about = {"server": "127.0.0.1:7171", "role": "admin", "name": "ada", "token": "locus_abcdefgh_secret"}
    (here / "enrollment.json").write_text(json.dumps(about))
    with locus.connect(profile="here") as client:
        assert isinstance(client.identity, locus.Token)
        assert client.identity.metadata(client.address) == (("authorization", "Bearer locus_abcdefgh_secret"),)
        assert "secret" not in repr(client.identity)
    with pytest.raises(locus.InvalidArgument, match="in the clear"):
        locus.connect("gpu.example.org:7171", profile="here")


def test_a_profile_that_is_not_there_says_how_to_make_it() -> None:
    with pytest.raises(locus.NotFound, match="locus login"):
        locus.connect(profile="nowhere")
    with pytest.raises(locus.InvalidArgument):
        locus.connect(profile="../lab")


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(locus.InvalidArgument, match="authority.pem"):
        locus.Client("127.0.0.1:7171", identity=locus.Identity.of_folder(tmp_path))


def test_a_closed_connection_is_explained() -> None:
    assert "certificate accepted there" in trust.explain("Socket closed", secure=True)
    assert "locus login" in trust.explain("Socket closed", secure=False)
    assert trust.explain("connection refused", secure=True) == ""

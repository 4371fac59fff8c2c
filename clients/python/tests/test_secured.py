"""The client and a server that speaks TLS: who is heard, what a role may not, a certificate that is renewed, one that is revoked."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Iterator

import pytest
from conftest import BIN, SMALL, Service, run_locus

import locus

WRONG_CLOCK = BIN.parent / "tests" / "liblocus_wrong_clock.so"
FIVE_DAYS = 5 * 86_400  # of the seven that a person's certificate lives: it is renewed after two thirds


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[Service]:
    """A server with TLS, whose first administrator has logged in as the profile "first"."""
    server = Service(tmp_path, "--tls-name", "127.0.0.1")
    log_in(server, "first", (tmp_path / "data" / "first-admin-token").read_text())
    yield server
    server.stop()


def log_in(server: Service, profile: str, token: str) -> None:
    run_locus("login", "-", "--server", f"https://{server.http}", "--profile", profile, given=token)


def enroll(server: Service, role: str, name: str) -> None:
    """Has somebody in, under a profile of that name."""
    log_in(server, name, run_locus("admin", "invite", role, name, "--profile", "first"))


def files(tmp_path: Path, profile: str) -> Path:
    return tmp_path / "config" / "locus" / "profiles" / profile


def test_a_profile_lists_and_is_refused_what_its_role_may_not(secured: Service) -> None:
    enroll(secured, "submitter", "ada")
    enroll(secured, "viewer", "vera")
    with locus.connect(profile="ada") as ada, locus.connect(profile="vera") as vera:
        ada.submit(SMALL, changes={"name": "day"})
        assert [one.name for one in vera.experiments()] == ["day"]
        assert run_locus("list", "--profile", "vera", "--quiet").split() == ["day"]
        with pytest.raises(locus.LocusError, match="calls as viewer") as refused:
            vera.experiment("day").cancel()
        assert refused.value.code == "PERMISSION_DENIED"
        assert ada.experiment("day").cancel().state == "cancelled"


def test_only_a_certificate_is_heard_and_only_the_right_server_believed(secured: Service, tmp_path: Path) -> None:
    with locus.connect(secured.address, patience=0) as nobody, pytest.raises(locus.Unavailable, match="locus login"):
        nobody.experiments()
    own = files(tmp_path, "first")
    # No authority, and not the server's.
    wrong = locus.Identity(own / "key.pem", own / "certificate.pem", own / "certificate.pem")
    with locus.connect(secured.address, identity=wrong, patience=0) as foreign:
        with pytest.raises(locus.Unavailable, match="not of the authority given"):
            foreign.experiments()
    elsewhere = "localhost:" + secured.address.rpartition(":")[2]
    with locus.connect(elsewhere, profile="first", patience=0) as misnamed, pytest.raises(locus.Unavailable):
        misnamed.experiments()
    with locus.connect(profile="first") as first:
        assert first.experiments() == []


def test_a_certificate_that_the_command_line_renews_is_taken_up(secured: Service, tmp_path: Path) -> None:
    enroll(secured, "viewer", "vera")
    certificate = files(tmp_path, "vera") / "certificate.pem"
    before = certificate.read_bytes()
    with locus.connect(profile="vera") as open_since:
        assert open_since.experiments() == []
        run_locus("list", "--profile", "vera")
        assert certificate.read_bytes() == before, "not due yet"
        ahead = tmp_path / "ahead"
        ahead.write_bytes(struct.pack("q", FIVE_DAYS))
        clock = {"LD_PRELOAD": str(WRONG_CLOCK), "LOCUS_WRONG_CLOCK": str(ahead)}
        run_locus("list", "--profile", "vera", variables=clock)
        assert certificate.read_bytes() != before
        with locus.connect(profile="vera") as renewed:
            assert renewed.experiments() == []
        assert open_since.experiments() == [], "an open connection goes on"


def test_a_revoked_certificate_is_refused_over_open_connections_and_new_ones(secured: Service) -> None:
    enroll(secured, "viewer", "vera")
    with locus.connect(profile="vera", patience=0) as vera:
        assert vera.experiments() == []
        run_locus("admin", "revoke", "vera", "--profile", "first")
        for client in (vera, locus.connect(profile="vera", patience=0)):
            with client, pytest.raises(locus.LocusError, match="revoked") as refused:
                client.experiments()
            assert refused.value.code == "UNAUTHENTICATED"

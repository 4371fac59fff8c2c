"""How a client shows who it is and whom it believes: certificates, and the profiles that `locus login` keeps."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import grpc

from locus._wire import refuse
from locus.errors import make_error


@dataclass(frozen=True)
class Identity:
    """Files in PEM: this client's key and certificate, and the authority of the server's certificate."""

    key: str | Path
    certificate: str | Path
    authority: str | Path

    @staticmethod
    def of_folder(folder: str | Path) -> Identity:
        """The files where `locus login` and enrolled workers keep them."""
        here = Path(folder)
        return Identity(here / "key.pem", here / "certificate.pem", here / "authority.pem")

    def credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(_pem(self.authority), _pem(self.key), _pem(self.certificate))


@dataclass(frozen=True)
class Token:
    """A token, for a server on this machine that asks who calls and speaks no TLS."""

    text: str

    def __repr__(self) -> str:
        return "Token(...)"

    def metadata(self, address: str) -> tuple[tuple[str, str], ...]:
        host = address.rpartition(":")[0]
        if host not in ("localhost", "[::1]") and not host.startswith("127."):
            refuse(f"a token would go to {address} in the clear: have that server speak TLS, log in there", "identity")
        return (("authorization", f"Bearer {self.text}"),)


def configuration_folder() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(home, "locus")


def profile(name: str) -> tuple[str, Identity | Token]:
    """Server and identity of a profile; NotFound without one."""
    folder = configuration_folder() / "profiles" / name
    if not name or "/" in name or name.startswith("."):
        refuse(f'"{name}" is no name of a profile', "profile", "INVALID_NAME")
    try:
        about = json.loads((folder / "enrollment.json").read_text(encoding="utf-8"))
        token = about.get("token")
        kept: Identity | Token = Token(str(token)) if token else Identity.of_folder(folder)
        return str(about["server"]), kept
    except (OSError, ValueError, KeyError):
        raise make_error(
            "NOT_FOUND",
            f'there is no profile "{name}" at {folder}; make it with `locus login TOKEN --profile {name}`',
            "CERTIFICATE_INVALID",
            "profile",
            {"name": name},
        ) from None


def explain(found: str, secure: bool) -> str:
    """What gRPC's words for a connection that failed mean; empty where they speak for themselves."""
    closed = any(words in found for words in ("Socket closed", "Connection reset by peer", "Broken pipe"))
    if closed and secure:
        return (
            "the server closed the connection: is this machine's certificate accepted there? It may be revoked, expired, "
            "of another authority, or outside its time by the server's clock"
        )
    if closed:
        return "the server closed the connection: if it speaks TLS, give the profile that `locus login` made"
    if "CERTIFICATE_VERIFY_FAILED" in found or "certificate verify failed" in found:
        return "the server's certificate is not of the authority given, or outside its time by this machine's clock"
    return ""


def _pem(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        refuse(f"{path} cannot be read: {error.strerror}; TLS takes key, certificate and authority", "identity")

"""What a client shows to a service, and how it knows the service."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.service.security.exposure import is_loopback

_AUTHORIZATION = "authorization"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of a client. Without any, it talks in the clear and says nothing of itself.

    Files of certificates are read when the client is made, that of the token at each call, so that a token
    may be replaced at any time.

    Attributes:
        ca: who signs the service's certificate, PEM; None: those that the system trusts.
        certificate: the client's own with its chain, PEM; None: it has none.
        key: its private key, PEM.
        token: that it brings with each call; empty: none.
        token_file: where the token is; None: nowhere.
        tls: talk over TLS although none of the files is given.
        server_name: that the service's certificate has, where it is not the host's; empty: the host's.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    tls: bool = False
    server_name: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Credentials:
        """Those that the environment names.

        ``GANGPLAN_CA``, ``GANGPLAN_CERT``, ``GANGPLAN_KEY`` and ``GANGPLAN_TOKEN_FILE`` are files,
        ``GANGPLAN_TOKEN`` is a token, ``GANGPLAN_TLS=1`` asks for TLS, ``GANGPLAN_SERVER_NAME`` is a name.
        """
        given = os.environ if environment is None else environment

        def path(name: str) -> Path | None:
            return Path(given[name]) if given.get(name) else None

        return cls(
            ca=path("GANGPLAN_CA"),
            certificate=path("GANGPLAN_CERT"),
            key=path("GANGPLAN_KEY"),
            token=given.get("GANGPLAN_TOKEN", ""),
            token_file=path("GANGPLAN_TOKEN_FILE"),
            tls=given.get("GANGPLAN_TLS", "") not in {"", "0"},
            server_name=given.get("GANGPLAN_SERVER_NAME", ""),
        )

    @property
    def over_tls(self) -> bool:
        """Whether the client talks over TLS."""
        return self.tls or self.ca is not None or self.certificate is not None

    def channel_credentials(self, address: str) -> grpc.ChannelCredentials | None:
        """For a channel to ``address``; None: it is in the clear.

        Raises:
            InvalidInputError: a file cannot be read, or a token would travel in the clear to another machine.
        """
        if (self.certificate is None) != (self.key is None):
            missing = "key" if self.key is None else "cert"
            raise InvalidInputError([FieldViolation(missing, "a certificate and its key are given together")])
        if not self.over_tls:
            if (self.token or self.token_file) and not _is_here(address):
                why = f"would travel to {address} in the clear; name the CA of the service, or ask for TLS"
                raise InvalidInputError([FieldViolation("token", why)])
            return None
        return grpc.ssl_channel_credentials(
            _read("ca", self.ca), _read("key", self.key), _read("cert", self.certificate)
        )

    def channel_options(self) -> list[tuple[str, str]]:
        """Of a channel with them."""
        return [("grpc.ssl_target_name_override", self.server_name)] if self.server_name else []

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """That goes with a call.

        Raises:
            InvalidInputError: the file with the token cannot be read.
        """
        token = self.token
        if self.token_file is not None:
            read = _read("token_file", self.token_file) or b""
            token = read.decode("ascii", "replace").strip()
        if not token:
            return ()
        if not (token.isascii() and token.isprintable()):
            raise InvalidInputError([FieldViolation("token", "must be printable ASCII in one line")])
        return ((_AUTHORIZATION, f"Bearer {token}"),)


def _read(field: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError([FieldViolation(field, f"{path} cannot be read: {error.strerror}")]) from None


def _is_here(address: str) -> bool:
    """Whether an address is this machine's own."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = address.rpartition("/")[2].rpartition(":")[0]
    return is_loopback(host)

"""Certificates for tests, made on the spot."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


@dataclass
class Authority:
    """Signs certificates, and keeps all of them in one folder."""

    folder: Path
    name: str

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self._ca = trustme.CA(organization_name=self.name)
        self.file = self.folder / f"{self.name}.ca.pem"
        self._ca.cert_pem.write_to_path(str(self.file))

    def issue(self, *names: str, common_name: str | None = None, expired: bool = False, to: str = "") -> Pair:
        ended = dt.datetime(2020, 1, 1, tzinfo=dt.UTC) if expired else None
        began = dt.datetime(2019, 1, 1, tzinfo=dt.UTC) if expired else None
        made = self._ca.issue_cert(*names, common_name=common_name, not_before=began, not_after=ended)
        stem = to or f"{self.name}.{names[0]}{'.expired' if expired else ''}"
        pair = Pair(self.folder / f"{stem}.pem", self.folder / f"{stem}.key")
        made.private_key_pem.write_to_path(str(pair.key))
        pair.certificate.write_bytes(b"".join(each.bytes() for each in made.cert_chain_pems))
        return pair

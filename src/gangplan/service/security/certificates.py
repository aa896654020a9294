"""What TLS needs, from files that are read anew when they change: the next handshake has the new ones."""

from __future__ import annotations

import ssl
import threading
from dataclasses import dataclass
from pathlib import Path

import grpc

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.observe.logs import get_logger

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Where they are.

    Attributes:
        certificate: the service's, with the chain up to the root, PEM.
        key: its private key, PEM, without a passphrase.
        client_ca: who signs the callers' certificates, PEM; None: callers need none.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None


class Certificates:
    """The certificates as they are now.

    Files that do not fit together after a change (one of them is written a moment later, say) are told in the
    log, and the certificates stay as they were until they do.

    Args:
        files: where they are.

    Raises:
        InvalidInputError: one cannot be read, or they do not fit together.
    """

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._read = self._contents()
        self._check()
        self.http = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        """For the HTTP port; follows the files, too. It asks callers for no certificate."""
        self.http.minimum_version = ssl.TLSVersion.TLSv1_2
        self.http.load_cert_chain(files.certificate, files.key)

    def credentials(self) -> grpc.ServerCredentials:
        """For a gRPC port."""
        return grpc.dynamic_ssl_server_credentials(
            _configuration(self._read),
            self._fetched,  # type: ignore[arg-type] # None is allowed, says gRPC's documentation
            require_client_authentication=self._files.client_ca is not None,
        )

    def refresh(self) -> bool:
        """Read the files anew where they have changed; whether they have."""
        with self._lock:
            try:
                contents = self._contents()
                if contents == self._read:
                    return False
                self._check()
                self.http.load_cert_chain(self._files.certificate, self._files.key)
            except InvalidInputError as error:
                _log.error("certificates stay as they were: the files are at fault", fault=str(error))
                return False
            self._read = contents
            _log.info("certificates read anew")
            return True

    def _fetched(self) -> grpc.ServerCertificateConfiguration | None:
        """Asked by gRPC at each handshake; None: as before."""
        return _configuration(self._read) if self.refresh() else None

    def _contents(self) -> tuple[bytes, bytes, bytes | None]:
        files = self._files
        return (
            _bytes("tls_cert", files.certificate),
            _bytes("tls_key", files.key),
            None if files.client_ca is None else _bytes("client_ca", files.client_ca),
        )

    def _check(self) -> None:
        """The libraries' own words may hold parts of the files, and are not told."""
        files = self._files
        try:
            # A passphrase that is asked for would be asked at the terminal.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key, password="")
        except (ssl.SSLError, ValueError):
            why = (
                f"{files.certificate} and {files.key} are no certificate and its key, PEM, without passphrase"
            )
            raise InvalidInputError([FieldViolation("tls_cert", why)]) from None
        if files.client_ca is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(files.client_ca)
            except (ssl.SSLError, ValueError):
                why = f"{files.client_ca} holds no certificate in PEM"
                raise InvalidInputError([FieldViolation("client_ca", why)]) from None


def _bytes(field: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError([FieldViolation(field, f"{path} cannot be read: {error.strerror}")]) from None


def _configuration(read: tuple[bytes, bytes, bytes | None]) -> grpc.ServerCertificateConfiguration:
    certificate, key, client_ca = read
    return grpc.ssl_server_certificate_configuration([(key, certificate)], root_certificates=client_ca)

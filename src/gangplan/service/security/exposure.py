"""A service that others can reach says who may call it, or says aloud that it does not."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.service.options import ServerOptions


def refuse_exposure(options: ServerOptions) -> None:
    """Refuse a set-up that lets anybody in who reaches the machine, or that says one thing and does another.

    Raises:
        InvalidInputError: every fault at once.
    """
    violations = []
    if (options.tls_certificate is None) != (options.tls_key is None):
        missing = "tls_key" if options.tls_key is None else "tls_cert"
        violations.append(FieldViolation(missing, "a certificate and its key are given together"))
    if options.client_ca is not None and options.tls_certificate is None:
        violations.append(
            FieldViolation("client_ca", "callers show certificates over TLS only: set tls_cert")
        )
    if not options.insecure:
        violations += _exposed("host", options.host, options, by_certificate=options.client_ca is not None)
        if options.metrics_port is not None:
            # A browser and Prometheus show no certificate there.
            violations += _exposed("metrics_host", options.metrics_host, options, by_certificate=False)
    if violations:
        raise InvalidInputError(violations)


def _exposed(
    field: str, host: str, options: ServerOptions, *, by_certificate: bool
) -> Iterator[FieldViolation]:
    """What an address beyond loopback lacks.

    Args:
        field: that says the address.
        host: the address.
        options: of the server.
        by_certificate: whether certificates show who calls there.
    """
    lacks = [
        *([] if options.tls_certificate is not None else ["TLS (tls_cert, tls_key)"]),
        *([] if by_certificate or options.callers is not None else ["authentication (callers)"]),
    ]
    if lacks and not is_loopback(host):
        why = f"{host} can be reached from other machines, which needs {' and '.join(lacks)}"
        yield FieldViolation(field, f"{why}; `insecure` does without")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"

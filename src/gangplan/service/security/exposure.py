"""A service that others can reach says who may call it, or says aloud that it does not."""

from __future__ import annotations

import ipaddress

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
    has_tls = options.tls_certificate is not None
    knows_callers = options.callers is not None or options.client_ca is not None
    if not options.insecure and not (has_tls and knows_callers):
        lacks = [
            *([] if has_tls else ["TLS (tls_cert, tls_key)"]),
            *([] if knows_callers else ["authentication (callers, or client_ca)"]),
        ]
        hosts = {"host": options.host}
        if options.metrics_port is not None:
            hosts["metrics_host"] = options.metrics_host
        violations += [
            FieldViolation(
                field,
                f"{host} can be reached from other machines, which needs {' and '.join(lacks)};"
                " `insecure` does without",
            )
            for field, host in hosts.items()
            if not is_loopback(host)
        ]
    if violations:
        raise InvalidInputError(violations)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"

"""Traces by OpenTelemetry, from the extra ``otel``: a span for each call, and in it one for each phase.

A caller that sends ``traceparent`` (W3C Trace Context) finds them below its own span. Spans carry names,
sizes, codes and gaps, and nothing of what is in a request. They are sent off the hot path, from a bounded
queue.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gangplan.errors import FieldViolation, InvalidInputError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from gangplan.domain.plan import RoundResult

_PARENT = ("traceparent", "tracestate")
_NANOSECONDS = 1_000_000_000
_WHOLE = "total"


class Tracing:
    """Makes the spans of one server.

    Args:
        provider: where they go; None: nowhere, at no cost.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider
        self._tracer = None if provider is None else provider.get_tracer("gangplan")

    @classmethod
    def to(cls, endpoint: str | None) -> Tracing:
        """Send spans to an OTLP endpoint over gRPC, e.g. ``http://127.0.0.1:4317``; None: nowhere.

        ``OTEL_TRACES_SAMPLER``, ``OTEL_RESOURCE_ATTRIBUTES`` and ``OTEL_EXPORTER_OTLP_HEADERS`` count as in
        any program with OpenTelemetry's SDK.

        Raises:
            InvalidInputError: the extra is not installed.
        """
        if endpoint is None:
            return cls()
        try:
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            why = "needs OpenTelemetry: pip install 'gangplan[otel]'"
            raise InvalidInputError([FieldViolation("otlp_endpoint", why)]) from None
        from gangplan import __version__

        made = {"service.name": "gangplan", "service.version": __version__}
        provider = TracerProvider(resource=Resource.create(made))
        exporter = OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"))
        provider.add_span_processor(BatchSpanProcessor(exporter))
        return cls(provider)

    @contextmanager
    def call(self, method: str, incident: str, metadata: Iterable[tuple[str, Any]]) -> Iterator[CallSpan]:
        """The span of a call, below the caller's if it sent one.

        Args:
            method: path of the method, e.g. ``/gangplan.v1.PlacementService/PlanRound``.
            incident: the id of the call in the log.
            metadata: of the call.
        """
        if self._tracer is None:
            yield CallSpan(None)
            return
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier = {key: value for key, value in metadata if key in _PARENT and isinstance(value, str)}
        service, _, name = method.strip("/").partition("/")
        with self._tracer.start_as_current_span(
            f"{service}/{name}",
            context=TraceContextTextMapPropagator().extract(carrier),
            kind=SpanKind.SERVER,
            attributes={
                "rpc.system": "grpc",
                "rpc.service": service,
                "rpc.method": name,
                "gangplan.incident": incident,
            },
            record_exception=False,  # what is in it is for the log
            set_status_on_exception=False,
        ) as span:
            yield CallSpan(span)

    def phases(self, result: RoundResult) -> None:
        """Spans of a round that has just been planned, below the call that it is for.

        The planner tells how long each phase took in all, in the order in which they first ended, and not
        when each began: they are drawn one after the other, and end now.
        """
        if self._tracer is None:
            return
        end = time.time_ns()
        quality = result.quality
        whole = sum(result.seconds_by_phase.get(phase, 0.0) for phase in ("wait", "read", _WHOLE))
        began = end - round(whole * _NANOSECONDS)
        attributes: Mapping[str, Any] = {
            "gangplan.pipeline": result.pipeline,
            "gangplan.solver": result.solver,
            "gangplan.reason": result.reason.value,
            "gangplan.limit": result.limit.value,
            "gangplan.objective": quality.objective,
            "gangplan.gap_of_gain": quality.gap_of_gain,
            "gangplan.relative_gap": quality.relative_gap,
            "gangplan.actions": len(result.plan.actions),
            "gangplan.waiting": len(result.verdicts),
        }
        from opentelemetry.trace import set_span_in_context

        round_ = self._tracer.start_span("round", start_time=began, attributes=attributes)
        below = set_span_in_context(round_)
        for phase, seconds in result.seconds_by_phase.items():
            if phase != _WHOLE:
                span = self._tracer.start_span(phase, context=below, start_time=min(began, end))
                began += round(seconds * _NANOSECONDS)
                span.end(min(began, end))
        round_.end(end)

    def close(self) -> None:
        """Send what is left."""
        if self._provider is not None:
            self._provider.shutdown()


class CallSpan:
    """The span of one call.

    Args:
        span: OpenTelemetry's; None: nobody wants to know.
    """

    def __init__(self, span: Any) -> None:
        self._span = span

    @property
    def trace_id(self) -> str:
        """In hexadecimal, for the log; empty: there is none."""
        return "" if self._span is None else f"{self._span.get_span_context().trace_id:032x}"

    def ended(self, code: str, number: int, request_bytes: int) -> None:
        """How the call ended: its status code, and how much was asked."""
        if self._span is None:
            return
        self._span.set_attribute("rpc.grpc.status_code", number)
        self._span.set_attribute("gangplan.request_bytes", request_bytes)
        if code in {"INTERNAL", "UNKNOWN", "UNAVAILABLE", "UNIMPLEMENTED", "DATA_LOSS", "DEADLINE_EXCEEDED"}:
            from opentelemetry.trace import StatusCode

            self._span.set_status(StatusCode.ERROR, code)

""":class:`~gangplan.domain.admission.AdmissionVerdict` -> an answer."""

from __future__ import annotations

from gangplan.domain.admission import AdmissionVerdict
from gangplan.service.wire.enums import numbers
from gangplan.service.wire.times import write_seconds
from gangplan.service.wire.write_answer import write_plan
from gangplan.v1 import admission_pb2


def write_admission(verdict: AdmissionVerdict) -> admission_pb2.CheckAdmissionResponse:
    """A whole answer."""
    message = admission_pb2.CheckAdmissionResponse(
        job=verdict.job,
        message=verdict.message,
        conditions=verdict.conditions,
        giving_way=verdict.giving_way,
    )
    message.answer = numbers(admission_pb2.Admission.DESCRIPTOR)[verdict.answer.name]  # type: ignore[assignment]
    for step in verdict.witness:
        written = message.witness.add(plan=write_plan(step.plan))
        write_seconds(step.round.now, written.begin)
        write_seconds(step.until, written.until)
    if verdict.earliest_deadline is not None:
        write_seconds(verdict.earliest_deadline, message.earliest_deadline)
    return message

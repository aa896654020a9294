"""The built calls of PlacementService on the event loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from gangplan.errors import FieldViolation, GangplanError, InvalidInputError
from gangplan.service.aborting import abort
from gangplan.service.answering import Answering, AnswerTooLargeError, call_of
from gangplan.service.methods import Behaviour
from gangplan.service.placement import Placement
from gangplan.service.remembered import MOST_BYTES, Key
from gangplan.service.session_calls import same_id_other_content
from gangplan.service.streams import RETURN_SECONDS, Better, Stream
from gangplan.v1 import placement_service_pb2

if TYPE_CHECKING:
    from gangplan.service.answering import Context
    from gangplan.service.call import Call
    from gangplan.v1 import round_pb2

_SERVICE = "gangplan.v1.PlacementService"
_STREAMS_IN_MEMORY = 64


class PlacementServicer:
    """Answers the built methods of PlacementService.

    Args:
        placement: what the calls do.
        answering: how calls are answered.
    """

    def __init__(self, placement: Placement, answering: Answering) -> None:
        self._placement = placement
        self._answering = answering
        self._streams: OrderedDict[Key, Stream] = OrderedDict()

    @property
    def methods(self) -> Mapping[str, Behaviour]:
        """By full method name, what answers it."""
        return {
            f"{_SERVICE}.PlanRound": self.plan_round,
            f"{_SERVICE}.StreamRound": self.stream_round,
            f"{_SERVICE}.ValidatePlan": self.validate_plan,
            f"{_SERVICE}.CheckAdmission": self.check_admission,
            f"{_SERVICE}.ExplainJob": self.explain_job,
            f"{_SERVICE}.RecommendPlacements": self.recommend_placements,
            f"{_SERVICE}.WhatIf": self.what_if,
            f"{_SERVICE}.ComputeFairShares": self.compute_fair_shares,
            f"{_SERVICE}.ListSolvers": self.list_solvers,
            f"{_SERVICE}.GetCapabilities": self.get_capabilities,
        }

    async def plan_round(self, request: bytes, context: Context) -> bytes:
        """PlanRound: the best verified plan in time."""
        placement = self._placement
        return await self._answering.planned(
            request, context, placement.parse_round, placement.seconds_left, placement.plan_round
        )

    async def stream_round(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        """StreamRound: each better plan, and then PlanRound's answer."""
        answering, call = self._answering, call_of(context)
        try:
            answering.admission.refuse_when_full(call.caller)
            message = await answering.parsed(request, self._placement.parse_stream)
            stream = await self._stream(message, call, context)
            seconds = RETURN_SECONDS if message.round.request_id else 0.0
            reading = stream.read(message.resume_after, seconds)
            try:
                async for better in reading:
                    yield await self._encoded(better)
            finally:
                await reading.aclose()  # type: ignore[attr-defined]
        except AnswerTooLargeError as error:
            await abort(context, error.status)
        except GangplanError as error:
            await answering.refuse(context, error)

    async def validate_plan(self, request: bytes, context: Context) -> bytes:
        """ValidatePlan: what a plan breaks."""
        placement = self._placement
        return await self._answering.planned(
            request, context, placement.parse_validation, placement.seconds_left, placement.validate_plan
        )

    async def check_admission(self, request: bytes, context: Context) -> bytes:
        """CheckAdmission: whether a job can be let in."""
        placement = self._placement
        return await self._answering.planned(
            request, context, placement.parse_admission, placement.seconds_left, placement.check_admission
        )

    async def what_if(self, request: bytes, context: Context) -> bytes:
        """WhatIf: a round without and with edits."""
        placement = self._placement
        return await self._answering.planned(
            request, context, placement.parse_what_if, placement.seconds_left, placement.what_if
        )

    async def explain_job(self, request: bytes, context: Context) -> bytes:
        """ExplainJob: why one job waits, or runs where it runs."""
        about = self._placement.about_jobs
        return await self._answering.planned(
            request, context, about.parse_explain, self._placement.seconds_left, about.explain_job
        )

    async def recommend_placements(self, request: bytes, context: Context) -> bytes:
        """RecommendPlacements: places for one job."""
        about = self._placement.about_jobs
        return await self._answering.planned(
            request, context, about.parse_recommend, self._placement.seconds_left, about.recommend_placements
        )

    async def compute_fair_shares(self, request: bytes, context: Context) -> bytes:
        """ComputeFairShares: what every job and queue is owed."""
        about = self._placement.about_jobs
        return await self._answering.planned(
            request, context, about.parse_shares, self._placement.seconds_left, about.compute_fair_shares
        )

    async def list_solvers(self, request: bytes, context: Context) -> bytes:
        """ListSolvers: the backends."""
        return await self._answering.quick(context, lambda: self._placement.list_solvers(request))

    async def get_capabilities(self, request: bytes, context: Context) -> bytes:
        """GetCapabilities: what the service can do."""
        return await self._answering.quick(context, lambda: self._placement.get_capabilities(request))

    async def _encoded(self, better: Better) -> bytes:
        """One message of a stream, made now that it is wanted."""

        def write() -> bytes:
            message = placement_service_pb2.StreamRoundResponse(number=better.number, last=better.last)
            message.answer.CopyFrom(better.write())  # type: ignore[arg-type]
            return self._answering.encode(message)

        return await self._answering.in_thread(write)

    async def _stream(
        self, message: placement_service_pb2.StreamRoundRequest, call: Call, context: Context
    ) -> Stream:
        """The stream that a request asks for: the one that there is, or a new one that begins to work."""
        found = await self._answering.key_of(message.round, call, context)
        if found is None:
            if message.HasField("resume_after"):
                why = "needs round.request_id: a stream is taken up again by its id"
                raise InvalidInputError([FieldViolation("resume_after", why)])
            return self._begin(message.round, call, b"")
        (caller, _, request_id), digest = found
        key = (caller, "StreamRound", request_id)
        known = self._streams.get(key)
        if known is not None:
            if known.request != digest:
                raise InvalidInputError([same_id_other_content("round.request_id", request_id)])
            if not known.failed:
                return known
        stream = self._streams[key] = self._begin(message.round, call, digest)
        self._streams.move_to_end(key)
        self._forget()
        return stream

    def _forget(self) -> None:
        """Forget the oldest streams that have ended, while there is too much of them."""
        size = sum(stream.size for stream in self._streams.values())
        for oldest in [each for each, other in self._streams.items() if other.ended]:
            if len(self._streams) <= _STREAMS_IN_MEMORY and size <= MOST_BYTES:
                break
            size -= self._streams.pop(oldest).size

    def _begin(self, request: round_pb2.PlanRoundRequest, call: Call, digest: bytes) -> Stream:
        stream = Stream(digest, call.cancellation)
        working = asyncio.ensure_future(self._work(request, call, stream))
        stream.working = working
        return stream

    def _streamed(
        self, request: round_pb2.PlanRoundRequest, call: Call, stream: Stream
    ) -> tuple[round_pb2.PlanRoundResponse, int]:
        """The last answer and its size; off the event loop."""
        answer = self._placement.stream_round(request, call, stream.tell)
        return answer, answer.ByteSize()

    async def _work(self, request: round_pb2.PlanRoundRequest, call: Call, stream: Stream) -> None:
        """Wait for a slot and plan; what comes of it goes to the stream, and nobody waits for its readers."""
        try:
            left = self._placement.seconds_left
            slot = await self._answering.enter(request, request.ByteSize(), call, left)
            try:
                answer, size = await self._answering.in_thread(lambda: self._streamed(request, call, stream))
            finally:
                slot.release()
        except Exception as error:  # noqa: BLE001 (whoever reads gets it)
            stream.fail(error)
        else:
            stream.finish(lambda: answer, size)
            call.answered()
            self._forget()

"""Translation between the contract (``gangplan.v1``) and the domain, one file per noun and direction.

Reading gives every violation at once; writing gives a message that reads back as the same value.
"""

from gangplan.service.wire.planned import planned_names
from gangplan.service.wire.read_answer import read_followed_outlook, read_plan, read_result
from gangplan.service.wire.read_round import (
    read_check_admission_request,
    read_round_request,
    read_validate_plan_request,
)
from gangplan.service.wire.read_what_if import read_what_if_request
from gangplan.service.wire.write_admission import write_admission
from gangplan.service.wire.write_answer import write_notices, write_plan, write_result
from gangplan.service.wire.write_parameters import write_parameters
from gangplan.service.wire.write_policy import write_policy
from gangplan.service.wire.write_round import write_round

__all__ = [
    "planned_names",
    "read_check_admission_request",
    "read_followed_outlook",
    "read_plan",
    "read_result",
    "read_round_request",
    "read_validate_plan_request",
    "read_what_if_request",
    "write_admission",
    "write_notices",
    "write_parameters",
    "write_plan",
    "write_policy",
    "write_result",
    "write_round",
]

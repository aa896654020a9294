"""The model's reading of the present agrees with the verifier's on every kind of broken present."""

from __future__ import annotations

import pytest

from gangplan.domain.plan import ForcedReason
from gangplan.model.instance.present import present
from gangplan.model.verifier.forced import forced_reasons
from gangplan.testing.builders import at, group, job, node, round_of

DRIVER = group("driver", gpus=0, cpu=1)


@pytest.mark.parametrize(
    ("nodes", "jobs", "forced"),
    [
        pytest.param(
            [node("a", "H100", 8)],
            [job("j", group(gpus=0, cpu=1), running=at("a", [0]))],
            {"j": ForcedReason.GANG_BROKEN},
            id="a task without devices that holds one",
        ),
        pytest.param(
            [node("a", "H100", 8, count_only=True, unhealthy=4), node("b", "H100", 8, count_only=True)],
            [
                job("early", gpus=8, running=at("a", tasks=8), started=1.0),
                job(
                    "late",
                    DRIVER,
                    group(count=2),
                    running=(at("a", group="driver"), at("b", tasks=2)),
                    started=2.0,
                ),
            ],
            {"early": ForcedReason.DEVICE_UNHEALTHY},
            id="who holds no device of the node that lost some does not make room there",
        ),
        pytest.param(
            [node("a", "H100", 8, count_only=True, unhealthy=4), node("b", "H100", 8, count_only=True)],
            [
                job("early", gpus=4, running=at("a", tasks=4), started=1.0),
                job("late", gpus=4, running=at("a", tasks=4), started=2.0),
                job("elsewhere", gpus=8, running=at("b", tasks=8), started=3.0),
            ],
            {"late": ForcedReason.DEVICE_UNHEALTHY},
            id="the last started of those on the node",
        ),
    ],
)
def test_model_and_verifier_agree_on_who_cannot_stay(nodes, jobs, forced):
    round_ = round_of(nodes, jobs)
    assert present(round_).forced == forced == forced_reasons(round_)

"""ElasticFlow, with admission job by job."""

from __future__ import annotations

from gangplan.planning.policies.elastic_flow import ElasticFlow
from gangplan.planning.policies.protocol import How

NAME = "elasticflow-singly"
ABOUT = "ElasticFlow that admits each job on its own, not those of a round all or none"


def make(how: How) -> ElasticFlow:
    """The policy: as the paper states admission (Gu et al., *ElasticFlow*, ASPLOS 2023, section 4.2)."""
    del how
    return ElasticFlow(NAME, together=False)

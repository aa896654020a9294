"""The client: plans over gRPC, or in this very process without a socket."""

from gangplan.client.client import Client

__all__ = ["Client"]

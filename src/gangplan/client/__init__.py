"""The client: plans over gRPC, or in this very process without a socket."""

from gangplan.client.async_client import AsyncClient, AsyncSession
from gangplan.client.client import Client, Session
from gangplan.client.credentials import Credentials

__all__ = ["AsyncClient", "AsyncSession", "Client", "Credentials", "Session"]

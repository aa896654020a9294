"""The gRPC service: the wire, the calls, and the server that answers them."""

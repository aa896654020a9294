"""Messages as plain documents: protobuf's own JSON mapping in lists, mappings, texts and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import json_format

if TYPE_CHECKING:
    from google.protobuf.message import Message


def document_of(message: Message) -> dict[str, Any]:
    """What ``json.dumps`` and ``yaml.dump`` take; read it back with protobuf's ``ParseDict``."""
    return json_format.MessageToDict(message)

"""How an answer leaves: as tables for people, or as JSON or YAML for programs."""

from __future__ import annotations

import json
import sys
from enum import Enum
from typing import Any


class Format(Enum):
    """Form of the answer on standard output."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def print_document(document: Any, form: Format) -> None:
    """Print a document of lists, mappings, texts and numbers, and nothing else.

    Args:
        document: what JSON can say.
        form: JSON or YAML.
    """
    if form is Format.YAML:
        import yaml

        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        yaml.dump(document, sys.stdout, Dumper=dumper, sort_keys=False, allow_unicode=True)
        return
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")

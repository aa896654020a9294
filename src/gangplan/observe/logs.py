"""Logs: structlog over the standard library, always on standard error."""

from __future__ import annotations

import logging
import logging.config
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger
    from structlog.typing import Processor


class LogFormat(Enum):
    """How a line looks."""

    JSON = "json"
    """One JSON object per line, for machines."""
    CONSOLE = "console"
    """For people; coloured on a terminal."""


def configure_logs(log_format: LogFormat = LogFormat.CONSOLE, level: str = "INFO") -> None:
    """Send every log line, ours and the libraries', to standard error in one format.

    Without this, as in a program that uses us as a library, our lines go where that program's logging
    sends them.

    Args:
        log_format: JSON in the service, CONSOLE elsewhere.
        level: name of the least level shown, e.g. ``INFO``.

    Raises:
        ValueError: there is no such level.
    """
    import sys

    import structlog

    last: list[Processor]
    if log_format is LogFormat.JSON:
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        last = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structured": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
                    "foreign_pre_chain": _shared(),
                }
            },
            "handlers": {
                "stderr": {
                    "class": "logging.StreamHandler",
                    "stream": "ext://sys.stderr",
                    "formatter": "structured",
                }
            },
            "root": {"handlers": ["stderr"], "level": level.upper()},
        }
    )


def get_logger(name: str) -> BoundLogger:
    """A structured logger over the standard library's: ``log.info("event", key=value)``."""
    import structlog

    logger: BoundLogger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[
            structlog.stdlib.filter_by_level,
            *_shared(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return logger


def _shared() -> list[Processor]:
    import structlog

    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]

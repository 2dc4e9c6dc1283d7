"""The last words of a container: its termination message.

Read from the file it was given at its terminationMessagePath, or, if it wanted that and failed without a word there,
from the end of its log. Limits are the API documentation's: 4096 bytes of file, 2048 bytes or 80 lines of log.
"""

from __future__ import annotations

import os

from agent.logs.records import parse_record

MOST_FILE_BYTES = 4096
MOST_LOG_BYTES = 2048
MOST_LOG_LINES = 80

# A log record adds a stamp and a stream to each line; 80 lines of a chatty program fit well below.
_MOST_RAW_BYTES = 64 * 1024


def termination_message(file: str, log: str, *, from_log: bool) -> str:
    """`file` and `log` are paths on the host, "" for none; `from_log` allows the log as a fallback."""
    message = _file_message(file) if file else ""
    if not message and from_log and log:
        message = log_tail(log)
    return message


def _file_message(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_FILE_BYTES)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"Error on reading termination log {path}: {error.strerror or error}"
    return data.decode("utf-8", "replace")


def log_tail(path: str) -> str:
    """The last lines a container wrote, both streams, without stamps."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - _MOST_RAW_BYTES)
            file.seek(start)
            raw = file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"Error on reading termination message from logs: {error.strerror or error}"
    lines = raw.splitlines(keepends=True)
    if start:
        del lines[:1]  # the end of a record whose beginning is not among what was read
    records = [record for line in lines if (record := parse_record(line)) is not None]
    text = b"".join(record.text for record in records)
    last = text.splitlines(keepends=True)[-MOST_LOG_LINES:]
    return b"".join(last)[-MOST_LOG_BYTES:].decode("utf-8", "replace")

"""Events about pods and the node, with the part of the pod they concern."""

from __future__ import annotations

from typing import Any

from client.events import Recorder as EventSink
from client.events import reference_to


class PodRecorder:
    """Fits `agent.pods.seams.Recorder`, over the client's recorder."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None:
        """Report something about an object; `field_path` names the container it is about. Never blocks."""
        if field_path:
            obj = reference_to(obj)
            obj.field_path = field_path
        self._sink.event(obj, type_, reason, message)

"""Reading Kubernetes' protobuf: bodies that Go clients send, as the JSON they stand for."""

from api.protobuf.envelope import MAGIC, ProtobufError, to_json

__all__ = ["MAGIC", "ProtobufError", "to_json"]

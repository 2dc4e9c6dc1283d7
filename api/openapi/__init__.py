"""OpenAPI v2 and v3 documents, made from the declarations and the scheme when somebody asks.

What comes out are bytes with a validator for ETag: nothing of the trees they are built from is kept.
"""

from api.openapi.documents import Document, v2_document, v2_protobuf, v2_protobuf_etag, v3_document, v3_index

__all__ = ["Document", "v2_document", "v2_protobuf", "v2_protobuf_etag", "v3_document", "v3_index"]

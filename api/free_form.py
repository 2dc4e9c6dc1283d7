"""Fields that hold any JSON: carried as plain Python values, never pruned, never merged by a schema."""

from typing import Annotated, Any

from api.declarations import Definition

RawExtension = Annotated[Any, Definition("io.k8s.apimachinery.pkg.runtime.RawExtension", "object")]
FieldsV1 = Annotated[Any, Definition("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "object")]
JSON = Annotated[Any, Definition("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON")]

"""Writes one group-version's types as a Python module. Layout is left to ruff; order and names are decided here."""

from collections.abc import Iterator

from api.generator.facts import PackageName
from api.generator.model import Expression, Field, ListOf, MapOf, Package, Ref, Scalar, Type
from api.generator.naming import attribute, is_regular

_PYTHON = {
    "string": "str",
    "boolean": "bool",
    "int32": "Int32",
    "int64": "Int64",
    "double": "float",
    "bytes": "bytes",
    "any": "Any",
}
_ZERO = {"string": '""', "boolean": "False", "int32": "0", "int64": "0", "bytes": 'b""'}
_FACTORY = {
    "string": "str",
    "boolean": "bool",
    "int32": "int",
    "int64": "int",
    "bytes": "bytes",
    "Quantity": "Quantity",
    "IntOrString": "int",
}
# Free-form JSON holds None by itself; times are None when they are zero.
_FREE_FORM = {"RawExtension", "FieldsV1", "JSON", "any"}
_TIMES = {"Time", "MicroTime"}
_IMPORTS = {
    "Int32": "api.declarations",
    "Int64": "api.declarations",
    "Quantity": "api.quantity",
    "Time": "api.times",
    "MicroTime": "api.times",
    "IntOrString": "api.int_or_string",
    "RawExtension": "api.free_form",
    "FieldsV1": "api.free_form",
    "JSON": "api.free_form",
}
# Hand-written in the generated module: they refer back to one of its structs.
_RECURSIVE = """
JSONSchemaPropsOrArray = Annotated[
    Union["JSONSchemaProps", list["JSONSchemaProps"]], Definition(f"{DEFINITIONS}.JSONSchemaPropsOrArray")
]
JSONSchemaPropsOrBool = Annotated[Union["JSONSchemaProps", bool], Definition(f"{DEFINITIONS}.JSONSchemaPropsOrBool")]
JSONSchemaPropsOrStringArray = Annotated[
    Union["JSONSchemaProps", list[str]], Definition(f"{DEFINITIONS}.JSONSchemaPropsOrStringArray")
]
"""


class ModuleWriter:
    """Collects the text of one module and the imports it turns out to need."""

    def __init__(self, package: Package, names: dict[str, PackageName]) -> None:
        self._package = package
        self._names = names
        self._imports: set[tuple[str, str]] = set()
        self._written: set[str] = set()

    def text(self) -> str:
        """The whole module."""
        body = list(self._body())
        return "\n".join([*self._head(), *body]) + "\n"

    def _head(self) -> Iterator[str]:
        prefix = self._package.definition_prefix
        yield f'"""Types of {self._package.path}, written by api.generator; api.declarations says how to read them."""'
        yield ""
        modules: dict[str, set[str]] = {}
        for module, name in self._imports:
            modules.setdefault(module, set()).add(name)
        for module in sorted(modules):
            yield f"from {module} import {', '.join(sorted(modules[module]))}"
        yield ""
        yield f'DEFINITIONS = "{prefix}"'

    def _body(self) -> Iterator[str]:
        if self._package.path == "apiextensions/v1":
            self._need("typing", "Annotated")
            self._need("typing", "Union")
            self._need("api.declarations", "Definition")
            yield _RECURSIVE
        for declared in self._package.types.values():
            yield from self._with_dependencies(declared)

    def _with_dependencies(self, declared: Type) -> Iterator[str]:
        """The type, after those it mentions: annotations are evaluated when the class is made."""
        if declared.name in self._written:
            return
        self._written.add(declared.name)
        for field in declared.fields:
            for ref in sorted(Type("", "", (field,)).references(), key=lambda ref: ref.name):
                if ref.package == self._package.path:
                    yield from self._with_dependencies(self._package.types[ref.name])
        if declared.name == "ObjectMeta":
            yield from self._class(declared)
            yield from self._bases_of_kinds()
            return
        yield from self._class(declared)

    def _bases_of_kinds(self) -> Iterator[str]:
        self._need("typing", "Any")
        yield from (
            "",
            "class TypeMeta(Struct):",
            '"""What every kind begins with; each kind has its own values as defaults."""',
            "api_version: str = always(str)",
            "kind: str = always(str)",
        )
        yield from (
            "",
            "class Object(TypeMeta):",
            '"""A kind that is stored under a name."""',
            "metadata: ObjectMeta = always(ObjectMeta)",
        )
        yield from (
            "",
            "class ObjectList(TypeMeta):",
            '"""A list of one kind."""',
            "metadata: ListMeta = always(ListMeta)",
            "items: Required[list[Any]] = always(list)",
        )

    def _class(self, declared: Type) -> Iterator[str]:
        yield ""
        if declared.atomic:
            self._need("api.declarations", "atomic")
            yield "@atomic"
        if declared.union:
            self._need("api.declarations", "union")
            discriminator, members = declared.union
            listed = ", ".join(f"{wire}={value!r}" for wire, value in members)
            yield f"@union({discriminator!r}, {listed})"
        fields = list(declared.fields)
        base = "Struct"
        if declared.api_version:
            base, fields = self._kind_base(fields)
        if base == "Struct":
            self._need("api.declarations", "Struct")
        yield f"class {declared.name}({base}):"
        if declared.api_version:
            self._need("api.declarations", "constant")
            yield f'api_version: str = constant("{declared.api_version}")'
            yield f'kind: str = constant("{declared.name}")'
        elif not fields:
            yield "pass"
        yield from (self._field(field, declared) for field in fields)

    def _kind_base(self, fields: list[Field]) -> tuple[str, list[Field]]:
        """The base class of a kind, and the fields that are left to declare."""
        metadata = next((field.type for field in fields if field.wire == "metadata"), None)
        match metadata:
            case Ref("meta/v1", "ObjectMeta"):
                base = "Object"
            case Ref("meta/v1", "ListMeta") if any(field.wire == "items" for field in fields):
                base = "ObjectList"
            case _:
                base = "TypeMeta"
        if base != "TypeMeta":
            fields = [field for field in fields if field.wire != "metadata" or field.required]
        return self._reference(Ref("meta/v1", base)), fields

    def _field(self, field: Field, owner: Type) -> str:
        name = attribute(field.wire)
        annotation = self._annotation(field)
        if "JSONSchemaProps" in annotation and owner.name == "JSONSchemaProps":
            annotation = annotation.replace("JSONSchemaProps]", '"JSONSchemaProps"]')
            if annotation == "JSONSchemaProps | None":
                annotation = f'"{annotation}"'
        return f"{name}: {annotation} = {self._default(field)}"

    def _annotation(self, field: Field) -> str:
        text = self._python(field.type)
        marks = []
        match field.list_type:
            case "map":
                marks.append(f"ListMap({', '.join(repr(key) for key in field.map_keys)})")
                self._need("api.declarations", "ListMap")
            case "set" if field.patch_strategy:
                marks.append('ListType("set")')
                self._need("api.declarations", "ListType")
            case "atomic" if field.patch_strategy:
                marks.append('ListType("atomic")')
                self._need("api.declarations", "ListType")
            case "set":
                text = f"SetOf[{text}]"
                self._need("api.declarations", "SetOf")
            case "atomic":
                text = f"Atomic[{text}]"
                self._need("api.declarations", "Atomic")
        if field.map_type:
            marks.append(f"{field.map_type.upper()}_MAP")
            self._need("api.declarations", marks[-1])
        match field.patch_strategy:
            case "replace":
                marks.append("REPLACE")
                self._need("api.declarations", "REPLACE")
            case "retainKeys":
                marks.append("RETAIN_KEYS")
                self._need("api.declarations", "RETAIN_KEYS")
            case "merge" | "merge,retainKeys" as strategy:
                arguments = [repr(field.merge_key)] if field.merge_key else []
                arguments += ["retain_keys=True"] if strategy != "merge" else []
                marks.append(f"Merge({', '.join(arguments)})")
                self._need("api.declarations", "Merge")
        optional = field.pointer or (field.omit_zero and isinstance(field.type, Ref))
        if isinstance(field.type, Scalar):
            optional = (optional or field.type.name in _TIMES) and field.type.name not in _FREE_FORM
        if optional:
            text = f"{text} | None"
        if marks:
            self._need("typing", "Annotated")
            text = f"Annotated[{', '.join([text, *marks])}]"
        if field.required:
            self._need("api.declarations", "Required")
            text = f"Required[{text}]"
        return text

    def _default(self, field: Field) -> str:
        zero, factory, struct = self._zero(field)
        name = "" if is_regular(field.wire) else field.wire
        if field.always or (struct and not field.omit_zero and not field.pointer):
            self._need("api.declarations", "always")
            if factory == "none":
                self._need("api.declarations", "none")
            return f'always({factory}, name="{name}")' if name else f"always({factory})"
        if name:
            self._need("api.declarations", "wire")
            return f'wire("{name}", {zero})'
        return zero

    def _zero(self, field: Field) -> tuple[str, str, bool]:
        """(literal, factory, whether the Go value is a struct, which only ``omitzero`` leaves out)."""
        if field.pointer or field.omit_zero:
            return "None", "none", False
        match field.type:
            case Scalar(name) if name in _FREE_FORM or name in _TIMES:
                return "None", "none", True
            case Scalar("Quantity" | "IntOrString" as name):
                return "", _FACTORY[name], True
            case Scalar(name):
                return _ZERO[name], _FACTORY[name], False
            case ListOf():
                return "[]", "list", False
            case MapOf():
                return "{}", "dict", False
            case Ref() as ref:
                return "", self._reference(ref), True
        raise AssertionError(field)

    def _python(self, expression: Expression) -> str:
        match expression:
            case Scalar(name):
                text = _PYTHON.get(name, name)
                if text in _IMPORTS:
                    self._need(_IMPORTS[text], text)
                elif text == "Any":
                    self._need("typing", "Any")
                return text
            case ListOf(item):
                return f"list[{self._python(item)}]"
            case MapOf(value):
                return f"dict[str, {self._python(value)}]"
            case Ref() as ref:
                return self._reference(ref)
        raise AssertionError(expression)

    def _reference(self, ref: Ref) -> str:
        if ref.package == self._package.path:
            return ref.name
        name = self._names[ref.package]
        self._need("api", name.module if name.module == name.alias else f"{name.module} as {name.alias}")
        return f"{name.alias}.{ref.name}"

    def _need(self, module: str, name: str) -> None:
        self._imports.add((module, name))

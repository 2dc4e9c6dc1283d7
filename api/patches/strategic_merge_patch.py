"""Strategic merge patch: a merge patch that knows which lists are sets and which are maps in disguise.

What merges by which key is read off the declarations. On top of that a patch may carry directives: ``$patch`` (replace,
delete), ``$retainKeys``, ``$deleteFromPrimitiveList/<field>`` and ``$setElementOrder/<field>``. Behaviour and messages
are those of apimachinery's strategicpatch.
"""

from collections.abc import Iterable
from typing import Any

from api.declarations import Struct
from api.patches.documents import copied
from api.patches.element_order import identity, ordered, partitioned, positions
from api.patches.errors import PatchError, bounded, go_type, shown
from api.shapes import Field, ListOf, MapOf, Scalar, Shape, StructShape, struct_shape

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"

Object = dict[str, Any]


@bounded
def strategic_merge_patch(document: Object, patch: Any, kind: type[Struct]) -> Object:
    """The document, of the declared kind, with the patch merged in. Raises PatchError."""
    if not isinstance(patch, dict):
        raise PatchError("invalid JSON document", 400)
    return _merge_objects(copied(document), copied(patch), struct_shape(kind))


def _merge_objects(original: Object, patch: Object, shape: Shape) -> Object:
    """Merges ``patch`` into ``original``; both are ours to change."""
    if _PATCH in patch:
        return _directed(patch)
    _retain_keys(original, patch)
    _merge_ordered_lists(original, patch, shape)
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            _delete_from(original, _named(key, _DELETE_FROM), value, shape)
        elif value is None:
            original.pop(key, None)
        elif key in original and type(original[key]) is type(value) and isinstance(value, (dict, list)):
            original[key] = _merge_field(original[key], value, key, shape)
        else:
            _put(original, key, _without_nulls(value))
    return original


def _merge_field(current: Any, value: Any, key: str, shape: Shape) -> Any:
    """Merges two objects or two lists that stand in the same field."""
    field = _lookup(shape, key)
    strategies = field.patch.strategies if field.patch else ()
    if isinstance(value, dict):
        return value if "replace" in strategies else _merge_objects(current, value, field.shape)
    if "merge" not in strategies:
        return value
    return _merge_lists(current, value, field)


def _directed(patch: Object) -> Object:
    directive = patch.pop(_PATCH)
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    patch[_PATCH] = directive
    raise PatchError(f"unknown patch type: {shown(directive)} in map: {shown(patch)}", 500)


def _retain_keys(original: Object, patch: Object) -> None:
    """``$retainKeys`` lists every member that may stay; members the patch sets must be among them."""
    if _RETAIN_KEYS not in patch:
        return
    kept = patch.pop(_RETAIN_KEYS)
    if not isinstance(kept, list):
        raise PatchError("invalid patch format of retainKeys", 400)
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE_FROM, _ORDER)) and key not in kept:
            raise PatchError("invalid patch format of retainKeys", 400)
    for key in [key for key in original if key not in kept]:
        del original[key]


def _merge_ordered_lists(original: Object, patch: Object, shape: Shape) -> None:
    """Lists for which the patch also says the order: merged here, and taken out of the patch."""
    for directive in [key for key in patch if key.startswith(_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _wrong_type([], order)
        key = _named(directive, _ORDER)
        present, wanted = original.get(key), patch.get(key)
        for name, holder in ((key, original), (key, patch)):
            if name in holder and not isinstance(holder[name], list):
                raise _wrong_type([], holder[name])
        field = _lookup(shape, key)
        merge_key = field.patch.key if field.patch else ""
        _check_order(wanted or [], order, merge_key)
        if present is None and wanted is None:
            continue
        if wanted is None:
            merged = present or []
        elif present is None:
            merged = _without_directives(wanted)
        else:
            merged = _merge_field(present, wanted, key, shape)
        _same_type(present or [], wanted or [])
        named, others = partitioned(merged, order, merge_key)
        original[key] = ordered(named, others, order, present or [], merge_key)
        patch.pop(key, None)


def _check_order(items: list[Any], order: list[Any], merge_key: str) -> None:
    """The items of the patch must stand in the order that ``$setElementOrder`` gives."""
    if not items or not order:
        return
    remaining = iter([identity(item, merge_key) for item in order])
    for item in items:
        if merge_key and not isinstance(item, dict):
            raise _wrong_type({}, item)
        if isinstance(item, dict) and _PATCH in item:
            continue
        name = identity(item, merge_key)
        if all(name != other for other in remaining):
            raise PatchError(
                f"The order in patch list:\n{shown(items)}\n doesn't match {_ORDER} list:\n{shown(order)}\n", 500
            )


def _delete_from(original: Object, key: str, values: Any, shape: Shape) -> None:
    """``$deleteFromPrimitiveList``: takes the values out of a list of scalars."""
    if values is None:
        original.pop(key, None)
        return
    current = original.get(key)
    if not isinstance(current, list) or not isinstance(values, list):
        return
    _lookup(shape, key)
    if current or values:
        element = _same_type(current, values)
        original[key] = current if element is dict else _without(current, values)


def _without(items: list[Any], values: list[Any]) -> list[Any]:
    gone = set(values)
    return [item for item in items if item not in gone]


def _merge_lists(current: list[Any], patch: list[Any], field: Field) -> list[Any]:
    if not current and not patch:
        return current
    merge_key = field.patch.key if field.patch else ""
    if _same_type(current, patch) is not dict:
        # A dict keeps the first of each value, in order; all are of one type here.
        merged = list(dict.fromkeys([*current, *patch]))
        merge_key = ""
    else:
        if not merge_key:
            raise PatchError("cannot merge lists without merge key for struct", 500)
        current, patch = _special_items(current, patch, merge_key)
        merged = _merge_items(
            current, patch, merge_key, field.shape.item if isinstance(field.shape, ListOf) else field.shape
        )
    named, others = partitioned(merged, patch, merge_key)
    return ordered(named, others, patch, current, merge_key)


def _special_items(current: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Carries out items that are directives: what is left of the list, and of the patch."""
    plain = []
    deleted = set()
    replace = False
    for item in patch:
        match item.get(_PATCH) if _PATCH in item else "":
            case "":
                plain.append(item)
            case "delete":
                deleted.add(identity(item, merge_key))
            case "replace":
                replace = True
            case "merge":
                raise PatchError("merging lists cannot yet be specified in the patch", 500)
            case unknown:
                raise PatchError(f"unknown patch type: {shown(unknown)} in map: {shown(item)}", 500)
    if replace:
        return plain, []
    return [item for item in current if identity(item, merge_key) not in deleted] if deleted else current, plain


def _merge_items(current: list[Any], patch: list[Any], merge_key: str, shape: Shape) -> list[Any]:
    merged = list(current)
    places = positions(current, merge_key)
    for item in patch:
        name = identity(item, merge_key)
        place = places.get(name)
        if place is None:
            places[name] = len(merged)
            merged.append(item)
        else:
            merged[place] = _merge_objects(merged[place], item, shape)
    return merged


def _put(original: Object, key: str, value: Any) -> None:
    """Takes a value of the patch as it is, short of its directives."""
    if isinstance(value, dict) and _PATCH in value:
        original.pop(key, None)
    else:
        original[key] = _without_directives(value)


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_directives(item) for key, item in value.items() if not _is_directive(item)}
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_directive(item)]
    return value


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _lookup(shape: Shape, key: str) -> Field:
    if not isinstance(shape, StructShape):
        held = "map" if isinstance(shape, MapOf) else "string" if isinstance(shape, Scalar) else "interface"
        raise PatchError(f"merging an object in json but data type is not struct, instead is: {held}", 500)
    field = shape.fields.get(key)
    if field is None:
        raise PatchError(f'unable to find api field in struct {shape.struct.__name__} for the json field "{key}"', 500)
    return field


def _named(directive: str, prefix: str) -> str:
    """The field that ``$prefix/field`` is about."""
    head, slash, field = directive.partition("/")
    if not slash or head != prefix:
        what = "primitive list" if prefix == _DELETE_FROM else "setElementOrder list"
        raise PatchError(f"invalid patch format of {what}", 400)
    return field


def _same_type(*lists: Iterable[Any]) -> type:
    """The one type of all elements; lists of lists and mixed lists cannot be merged."""
    items = [item for items in lists for item in items]
    if not items:
        raise PatchError("no elements in any of the given slices", 500)
    first = type(items[0])
    if first is list:
        raise PatchError("lists of lists are not supported", 422)
    if any(type(item) is not first for item in items):
        raise PatchError(f"list element types are not identical: {shown(list(lists))}", 500)
    return first


def _wrong_type(expected: Any, actual: Any) -> PatchError:
    return PatchError(f"expected a {go_type(expected)}, but received a {go_type(actual)}", 500)

"""Choosing objects by label and by field, as list, watch and workloads do."""

from api.selectors.fields import FieldSelector, check_fields, field_value, parse_field_selector
from api.selectors.labels import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    Operator,
    Requirement,
    SelectorError,
    from_labels,
    from_struct,
    parse_label_selector,
    requirement,
)

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "FieldSelector",
    "LabelSelector",
    "Operator",
    "Requirement",
    "SelectorError",
    "check_fields",
    "field_value",
    "from_labels",
    "from_struct",
    "parse_field_selector",
    "parse_label_selector",
    "requirement",
]

"""The three kinds of patch, on plain JSON values: JSON patch, merge patch and strategic merge patch.

Each takes a document and a patch and gives a new document; neither argument is changed. A patch that cannot be applied
raises PatchError with the message and HTTP code upstream answers with.
"""

from api.patches.errors import PatchError
from api.patches.json_patch import json_patch
from api.patches.merge_patch import merge_patch
from api.patches.strategic_merge_patch import strategic_merge_patch

__all__ = ["PatchError", "json_patch", "merge_patch", "strategic_merge_patch"]

"""Who made an object and cares for it: owner references, of which at most one is the controller's."""

from api import meta_v1 as meta


def controller_of(obj: meta.Object) -> meta.OwnerReference | None:
    """The reference to the object's managing controller, if it has one."""
    for owner in obj.metadata.owner_references:
        if owner.controller:
            return owner
    return None


def new_controller_ref(owner: meta.Object) -> meta.OwnerReference:
    """A reference for objects that `owner` controls; deletion of the owner in the foreground waits for them."""
    return meta.OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def is_controlled_by(obj: meta.Object, owner: meta.Object) -> bool:
    """Whether `owner` is the managing controller; the UID decides, names are reused."""
    reference = controller_of(obj)
    return reference is not None and reference.uid == owner.metadata.uid


def is_owned_by(obj: meta.Object, owner: meta.Object) -> bool:
    """Whether `owner` is among the object's owners, controller or not."""
    return any(reference.uid == owner.metadata.uid for reference in obj.metadata.owner_references)

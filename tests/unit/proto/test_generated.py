"""The checked-in modules are what the compiler makes of the `.proto` files, and they keep out of the default pool."""

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool

from proto import cri_pb2 as cri
from proto.containerd import events_pb2, payloads_pb2
from proto.generate import ROOT, generate


def test_checked_in_code_is_up_to_date(tmp_path: Path) -> None:
    for written in generate(into=tmp_path):
        checked_in = ROOT / written.relative_to(tmp_path)
        assert checked_in.read_text() == written.read_text(), f"{checked_in.name}: run python -m proto.generate"


def test_default_descriptor_pool_stays_free_of_our_interfaces() -> None:
    assert cri.Container.DESCRIPTOR.full_name == "runtime.v1.Container"
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("runtime.v1.Container")


def test_another_package_with_the_same_interface_can_be_imported_beside_ours() -> None:
    script = (
        "from google.protobuf import descriptor_pool, descriptor_pb2\n"
        "file = descriptor_pb2.FileDescriptorProto(name='other/api.proto', package='runtime.v1')\n"
        "file.message_type.add(name='Container')\n"
        "descriptor_pool.Default().AddSerializedFile(file.SerializeToString())\n"
        "from proto import cri_pb2\n"
        "print(cri_pb2.Container(id='a').id)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "a\n", done.stderr


def test_well_known_types_keep_their_methods() -> None:
    envelope = events_pb2.Envelope()
    envelope.event.value = payloads_pb2.TaskExit(container_id="c", exit_status=137).SerializeToString()
    envelope.timestamp.FromNanoseconds(1_500_000_000)
    again = events_pb2.Envelope.FromString(envelope.SerializeToString())
    assert again.timestamp.ToNanoseconds() == 1_500_000_000
    assert payloads_pb2.TaskExit.FromString(again.event.value).exit_status == 137

"""The descriptor pool that our generated modules register in.

Generated protobuf code registers its messages in the process-wide default pool, where two packages that carry the same
interface (`runtime.v1` is carried by several on PyPI) fail to import beside each other. Ours live in a pool of their
own; `proto.generate` rewrites the generated code to use it. The well-known types that our files import are entered
here, since a private pool starts empty.
"""

from google.protobuf import any_pb2, descriptor_pool, timestamp_pb2

POOL = descriptor_pool.DescriptorPool()

for _well_known in (any_pb2, timestamp_pb2):
    POOL.AddSerializedFile(_well_known.DESCRIPTOR.serialized_pb)

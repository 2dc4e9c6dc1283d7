"""Types of flowcontrol/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import meta_v1 as meta
from api.declarations import Atomic, Int32, ListMap, Merge, Required, SetOf, Struct, always, constant, none, union
from api.times import Time

DEFINITIONS = "io.k8s.api.flowcontrol.v1"


class PriorityLevelConfigurationReference(Struct):
    name: Required[str] = always(str)


class FlowDistinguisherMethod(Struct):
    type: Required[str] = always(str)


class UserSubject(Struct):
    name: Required[str] = always(str)


class GroupSubject(Struct):
    name: Required[str] = always(str)


class ServiceAccountSubject(Struct):
    namespace: Required[str] = always(str)
    name: Required[str] = always(str)


@union("kind", group="Group", serviceAccount="ServiceAccount", user="User")
class Subject(Struct):
    kind: Required[str] = always(str)
    user: UserSubject | None = None
    group: GroupSubject | None = None
    service_account: ServiceAccountSubject | None = None


class ResourcePolicyRule(Struct):
    verbs: Required[SetOf[list[str]]] = always(list)
    api_groups: Required[SetOf[list[str]]] = always(list)
    resources: Required[SetOf[list[str]]] = always(list)
    cluster_scope: bool = False
    namespaces: SetOf[list[str]] = always(list)


class NonResourcePolicyRule(Struct):
    verbs: Required[SetOf[list[str]]] = always(list)
    non_resource_urls: Required[SetOf[list[str]]] = always(list, name="nonResourceURLs")


class PolicyRulesWithSubjects(Struct):
    subjects: Required[Atomic[list[Subject]]] = always(list)
    resource_rules: Atomic[list[ResourcePolicyRule]] = []
    non_resource_rules: Atomic[list[NonResourcePolicyRule]] = []


class FlowSchemaSpec(Struct):
    priority_level_configuration: Required[PriorityLevelConfigurationReference] = always(
        PriorityLevelConfigurationReference
    )
    matching_precedence: Int32 = always(int)
    distinguisher_method: FlowDistinguisherMethod | None = None
    rules: Atomic[list[PolicyRulesWithSubjects]] = []


class FlowSchemaCondition(Struct):
    type: str = ""
    status: str = ""
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class FlowSchemaStatus(Struct):
    conditions: Annotated[list[FlowSchemaCondition], ListMap("type"), Merge("type")] = []


class FlowSchema(meta.Object):
    api_version: str = constant("flowcontrol.apiserver.k8s.io/v1")
    kind: str = constant("FlowSchema")
    spec: FlowSchemaSpec = always(FlowSchemaSpec)
    status: FlowSchemaStatus = always(FlowSchemaStatus)


class FlowSchemaList(meta.ObjectList):
    api_version: str = constant("flowcontrol.apiserver.k8s.io/v1")
    kind: str = constant("FlowSchemaList")
    items: Required[list[FlowSchema]] = always(list)


class QueuingConfiguration(Struct):
    queues: Int32 = always(int)
    hand_size: Int32 = always(int)
    queue_length_limit: Int32 = always(int)


@union("type", queuing="Queuing")
class LimitResponse(Struct):
    type: Required[str] = always(str)
    queuing: QueuingConfiguration | None = None


class LimitedPriorityLevelConfiguration(Struct):
    nominal_concurrency_shares: Int32 | None = always(none)
    limit_response: LimitResponse = always(LimitResponse)
    lendable_percent: Int32 | None = None
    borrowing_limit_percent: Int32 | None = None


class ExemptPriorityLevelConfiguration(Struct):
    nominal_concurrency_shares: Int32 | None = None
    lendable_percent: Int32 | None = None


@union("type", exempt="Exempt", limited="Limited")
class PriorityLevelConfigurationSpec(Struct):
    type: Required[str] = always(str)
    limited: LimitedPriorityLevelConfiguration | None = None
    exempt: ExemptPriorityLevelConfiguration | None = None


class PriorityLevelConfigurationCondition(Struct):
    type: str = ""
    status: str = ""
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class PriorityLevelConfigurationStatus(Struct):
    conditions: Annotated[list[PriorityLevelConfigurationCondition], ListMap("type"), Merge("type")] = []


class PriorityLevelConfiguration(meta.Object):
    api_version: str = constant("flowcontrol.apiserver.k8s.io/v1")
    kind: str = constant("PriorityLevelConfiguration")
    spec: PriorityLevelConfigurationSpec = always(PriorityLevelConfigurationSpec)
    status: PriorityLevelConfigurationStatus = always(PriorityLevelConfigurationStatus)


class PriorityLevelConfigurationList(meta.ObjectList):
    api_version: str = constant("flowcontrol.apiserver.k8s.io/v1")
    kind: str = constant("PriorityLevelConfigurationList")
    items: Required[list[PriorityLevelConfiguration]] = always(list)

"""The fake runtime's memory of sandboxes and containers, and how they look on the wire."""

from __future__ import annotations

from dataclasses import dataclass, field

from cri.fake.programs import Program
from proto import cri_pb2 as cri


@dataclass(slots=True)
class SandboxRecord:
    id: str
    config: cri.PodSandboxConfig
    runtime_handler: str
    created_at: int
    ip: str
    ready: bool = True

    @property
    def state(self) -> cri.PodSandboxState:
        return cri.SANDBOX_READY if self.ready else cri.SANDBOX_NOTREADY

    def listed(self) -> cri.PodSandbox:
        return cri.PodSandbox(
            id=self.id,
            metadata=self.config.metadata,
            state=self.state,
            created_at=self.created_at,
            labels=self.config.labels,
            annotations=self.config.annotations,
            runtime_handler=self.runtime_handler,
        )

    def status(self) -> cri.PodSandboxStatus:
        options = self.config.linux.security_context.namespace_options
        return cri.PodSandboxStatus(
            id=self.id,
            metadata=self.config.metadata,
            state=self.state,
            created_at=self.created_at,
            network=cri.PodSandboxNetworkStatus(ip=self.ip if self.ready else ""),
            linux=cri.LinuxPodSandboxStatus(namespaces=cri.Namespace(options=options)),
            labels=self.config.labels,
            annotations=self.config.annotations,
            runtime_handler=self.runtime_handler,
        )


@dataclass(slots=True)
class ContainerRecord:
    id: str
    sandbox_id: str
    config: cri.ContainerConfig
    image_id: str
    log_path: str
    created_at: int
    state: cri.ContainerState = cri.CONTAINER_CREATED
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    program: Program = field(default_factory=Program)
    run: int = 0
    """Counts starts, so that a timer of an earlier run does not end a later one."""

    def listed(self) -> cri.Container:
        return cri.Container(
            id=self.id,
            pod_sandbox_id=self.sandbox_id,
            metadata=self.config.metadata,
            image=self.config.image,
            image_ref=self.image_id,
            image_id=self.image_id,
            state=self.state,
            created_at=self.created_at,
            labels=self.config.labels,
            annotations=self.config.annotations,
        )

    def status(self) -> cri.ContainerStatus:
        return cri.ContainerStatus(
            id=self.id,
            metadata=self.config.metadata,
            state=self.state,
            created_at=self.created_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            exit_code=self.exit_code,
            image=self.config.image,
            image_ref=self.image_id,
            image_id=self.image_id,
            reason=self.reason,
            message=self.message,
            labels=self.config.labels,
            annotations=self.config.annotations,
            mounts=self.config.mounts,
            log_path=self.log_path,
            resources=cri.ContainerResources(linux=self.config.linux.resources),
        )

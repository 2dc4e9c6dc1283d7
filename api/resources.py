"""What is served: one line a resource, written by api.generator.

``groupVersion plural singular Kind scope``, then what differs from the usual: ``short=``, ``categories=``, ``verbs=``
(all eight if not given), and subresources as ``name=Kind:verbs`` (the resource's own kind and get, patch, update if
not given). Indented lines continue the one before.
"""

TABLE = """
v1 bindings binding Binding Namespaced verbs=create
v1 componentstatuses componentstatus ComponentStatus Cluster short=cs verbs=get,list
v1 configmaps configmap ConfigMap Namespaced short=cm
v1 endpoints endpoints Endpoints Namespaced short=ep
v1 events event Event Namespaced short=ev
v1 limitranges limitrange LimitRange Namespaced short=limits
v1 namespaces namespace Namespace Cluster short=ns verbs=create,delete,get,list,patch,update,watch
    finalize=Namespace:update status
v1 nodes node Node Cluster short=no proxy=NodeProxyOptions:create,delete,get,patch,update status
v1 persistentvolumeclaims persistentvolumeclaim PersistentVolumeClaim Namespaced short=pvc status
v1 persistentvolumes persistentvolume PersistentVolume Cluster short=pv status
v1 pods pod Pod Namespaced short=po categories=all attach=PodAttachOptions:create,get binding=Binding:create
    ephemeralcontainers eviction=policy/v1.Eviction:create exec=PodExecOptions:create,get log=Pod:get
    portforward=PodPortForwardOptions:create,get proxy=PodProxyOptions:create,delete,get,patch,update resize status
v1 podtemplates podtemplate PodTemplate Namespaced
v1 replicationcontrollers replicationcontroller ReplicationController Namespaced short=rc categories=all
    scale=autoscaling/v1.Scale:get,patch,update status
v1 resourcequotas resourcequota ResourceQuota Namespaced short=quota status
v1 secrets secret Secret Namespaced
v1 serviceaccounts serviceaccount ServiceAccount Namespaced short=sa
    token=authentication.k8s.io/v1.TokenRequest:create
v1 services service Service Namespaced short=svc categories=all
    proxy=ServiceProxyOptions:create,delete,get,patch,update status
apiregistration.k8s.io/v1 apiservices apiservice APIService Cluster categories=api-extensions status
apps/v1 controllerrevisions controllerrevision ControllerRevision Namespaced
apps/v1 daemonsets daemonset DaemonSet Namespaced short=ds categories=all status
apps/v1 deployments deployment Deployment Namespaced short=deploy categories=all
    scale=autoscaling/v1.Scale:get,patch,update status
apps/v1 replicasets replicaset ReplicaSet Namespaced short=rs categories=all
    scale=autoscaling/v1.Scale:get,patch,update status
apps/v1 statefulsets statefulset StatefulSet Namespaced short=sts categories=all
    scale=autoscaling/v1.Scale:get,patch,update status
events.k8s.io/v1 events event Event Namespaced short=ev
authentication.k8s.io/v1 selfsubjectreviews selfsubjectreview SelfSubjectReview Cluster verbs=create
authentication.k8s.io/v1 tokenreviews tokenreview TokenReview Cluster verbs=create
authorization.k8s.io/v1 localsubjectaccessreviews localsubjectaccessreview LocalSubjectAccessReview Namespaced
    verbs=create
authorization.k8s.io/v1 selfsubjectaccessreviews selfsubjectaccessreview SelfSubjectAccessReview Cluster verbs=create
authorization.k8s.io/v1 selfsubjectrulesreviews selfsubjectrulesreview SelfSubjectRulesReview Cluster verbs=create
authorization.k8s.io/v1 subjectaccessreviews subjectaccessreview SubjectAccessReview Cluster verbs=create
autoscaling/v2 horizontalpodautoscalers horizontalpodautoscaler HorizontalPodAutoscaler Namespaced short=hpa
    categories=all status
autoscaling/v1 horizontalpodautoscalers horizontalpodautoscaler HorizontalPodAutoscaler Namespaced short=hpa
    categories=all status
batch/v1 cronjobs cronjob CronJob Namespaced short=cj categories=all status
batch/v1 jobs job Job Namespaced categories=all status
certificates.k8s.io/v1 certificatesigningrequests certificatesigningrequest CertificateSigningRequest Cluster
    short=csr approval status
networking.k8s.io/v1 ingressclasses ingressclass IngressClass Cluster
networking.k8s.io/v1 ingresses ingress Ingress Namespaced short=ing status
networking.k8s.io/v1 ipaddresses ipaddress IPAddress Cluster short=ip
networking.k8s.io/v1 networkpolicies networkpolicy NetworkPolicy Namespaced short=netpol
networking.k8s.io/v1 servicecidrs servicecidr ServiceCIDR Cluster status
policy/v1 poddisruptionbudgets poddisruptionbudget PodDisruptionBudget Namespaced short=pdb status
rbac.authorization.k8s.io/v1 clusterrolebindings clusterrolebinding ClusterRoleBinding Cluster
rbac.authorization.k8s.io/v1 clusterroles clusterrole ClusterRole Cluster
rbac.authorization.k8s.io/v1 rolebindings rolebinding RoleBinding Namespaced
rbac.authorization.k8s.io/v1 roles role Role Namespaced
storage.k8s.io/v1 csidrivers csidriver CSIDriver Cluster
storage.k8s.io/v1 csinodes csinode CSINode Cluster
storage.k8s.io/v1 csistoragecapacities csistoragecapacity CSIStorageCapacity Namespaced
storage.k8s.io/v1 storageclasses storageclass StorageClass Cluster short=sc
storage.k8s.io/v1 volumeattachments volumeattachment VolumeAttachment Cluster status
storage.k8s.io/v1 volumeattributesclasses volumeattributesclass VolumeAttributesClass Cluster short=vac
admissionregistration.k8s.io/v1 mutatingadmissionpolicies mutatingadmissionpolicy MutatingAdmissionPolicy Cluster
    categories=api-extensions
admissionregistration.k8s.io/v1 mutatingadmissionpolicybindings mutatingadmissionpolicybinding
    MutatingAdmissionPolicyBinding Cluster categories=api-extensions
admissionregistration.k8s.io/v1 mutatingwebhookconfigurations mutatingwebhookconfiguration
    MutatingWebhookConfiguration Cluster categories=api-extensions
admissionregistration.k8s.io/v1 validatingadmissionpolicies validatingadmissionpolicy ValidatingAdmissionPolicy
    Cluster categories=api-extensions status
admissionregistration.k8s.io/v1 validatingadmissionpolicybindings validatingadmissionpolicybinding
    ValidatingAdmissionPolicyBinding Cluster categories=api-extensions
admissionregistration.k8s.io/v1 validatingwebhookconfigurations validatingwebhookconfiguration
    ValidatingWebhookConfiguration Cluster categories=api-extensions
apiextensions.k8s.io/v1 customresourcedefinitions customresourcedefinition CustomResourceDefinition Cluster
    short=crd,crds categories=api-extensions status
scheduling.k8s.io/v1 priorityclasses priorityclass PriorityClass Cluster short=pc
coordination.k8s.io/v1 leases lease Lease Namespaced
node.k8s.io/v1 runtimeclasses runtimeclass RuntimeClass Cluster
discovery.k8s.io/v1 endpointslices endpointslice EndpointSlice Namespaced
resource.k8s.io/v1 deviceclasses deviceclass DeviceClass Cluster
resource.k8s.io/v1 resourceclaims resourceclaim ResourceClaim Namespaced status
resource.k8s.io/v1 resourceclaimtemplates resourceclaimtemplate ResourceClaimTemplate Namespaced
resource.k8s.io/v1 resourceslices resourceslice ResourceSlice Cluster
flowcontrol.apiserver.k8s.io/v1 flowschemas flowschema FlowSchema Cluster status
flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations prioritylevelconfiguration PriorityLevelConfiguration
    Cluster status
"""

{{/*
What the account of each service may write, beyond its role: roles know kinds and verbs, not labels and owners. So a
controller that code in its process has taken over cannot touch objects that are not Sandlot's.
*/}}

{{/* CEL: whether a list of owners has a controller of one of these kinds; call with (dict "of" VARIABLE "kinds" KINDS). */}}
{{- define "sandlot.policies.controlledBy" -}}
{{ .of }}.exists(o, o.?controller.orValue(false) && o.kind in {{ include "sandlot.policies.list" .kinds }} && o.apiVersion.matches(r'^(extensions\.)?agents\.x-k8s\.io/'))
{{- end -}}

{{/* Metadata before and after; the one that is missing is empty. */}}
{{- define "sandlot.policies.fenceVariables" -}}
- name: who
  expression: request.userInfo.username
- name: labels
  expression: "request.operation == 'DELETE' ? {} : object.metadata.?labels.orValue({})"
- name: oldLabels
  expression: "request.operation == 'CREATE' ? {} : oldObject.metadata.?labels.orValue({})"
- name: owners
  expression: "request.operation == 'DELETE' ? dyn([]) : dyn(object.metadata.?ownerReferences.orValue([]))"
- name: oldOwners
  expression: "request.operation == 'CREATE' ? dyn([]) : dyn(oldObject.metadata.?ownerReferences.orValue([]))"
{{- end -}}

{{/* CEL: whether an update leaves the Pod of a Sandbox. Most writes leave the generation, which is compared faster. */}}
{{- define "sandlot.policies.keepsPod" -}}
(object.metadata.generation == oldObject.metadata.generation || (object.spec.podTemplate == oldObject.spec.podTemplate && object.spec.?volumeClaimTemplates == oldObject.spec.?volumeClaimTemplates))
{{- end -}}

{{- define "sandlot.policies.sandboxFences" -}}
{{- $accounts := include "sandlot.policies.accounts" . | fromYaml -}}
{{- $ofPool := dict "of" "variables.oldOwners" "kinds" (list "SandboxWarmPool") -}}
{{- $ofClaim := dict "of" "variables.oldOwners" "kinds" (list "SandboxClaim") -}}
{{- $wasGolden := printf "'sandlot.dev/golden' in variables.oldLabels && %s" (include "sandlot.policies.controlledBy" (dict "of" "variables.oldOwners" "kinds" (list "SandboxTemplate"))) -}}
{{- $isGolden := printf "'sandlot.dev/golden' in variables.labels && %s" (include "sandlot.policies.controlledBy" (dict "of" "variables.owners" "kinds" (list "SandboxTemplate"))) -}}
- rule: controllers
  says: The sandbox-controller and the API may suspend, resume and annotate a Sandbox, and not change its Pod, disks, labels or owners
  holds: >-
    !(variables.who in ['{{ get $accounts "sandbox-controller" }}', '{{ get $accounts "api" }}'])
    || request.operation == 'DELETE'
    || (request.operation == 'UPDATE' && variables.labels == variables.oldLabels
    && variables.owners == variables.oldOwners && {{ include "sandlot.policies.keepsPod" . }})
- rule: controllers
  says: The warmpool-controller may create members of pools and golden Sandboxes of templates, take over members without an owner, and delete what no claim has
  holds: >-
    variables.who != '{{ get $accounts "warmpool-controller" }}'
    || (request.operation == 'CREATE' && 'agents.x-k8s.io/warm-pool-sandbox' in variables.labels
    && {{ include "sandlot.policies.controlledBy" (dict "of" "variables.owners" "kinds" (list "SandboxWarmPool")) }})
    || (request.operation == 'CREATE' && {{ $isGolden }})
    || (request.operation == 'DELETE' && {{ $wasGolden }})
    || (request.operation == 'UPDATE' && 'agents.x-k8s.io/warm-pool-sandbox' in variables.oldLabels
    && variables.labels == variables.oldLabels && {{ include "sandlot.policies.keepsPod" . }}
    && !variables.oldOwners.exists(o, o.?controller.orValue(false)))
    || (request.operation == 'DELETE' && 'agents.x-k8s.io/warm-pool-sandbox' in variables.oldLabels
    && ({{ include "sandlot.policies.controlledBy" $ofPool }} || !variables.oldOwners.exists(o, o.?controller.orValue(false))))
- rule: controllers
  says: The claim-controller may create Sandboxes for claims, adopt members of pools, and change and delete those that claims have
  holds: >-
    variables.who != '{{ get $accounts "claim-controller" }}'
    || (request.operation == 'CREATE' && 'agents.x-k8s.io/claim-uid' in variables.labels
    && ('sandlot.dev/claim-slot' in variables.labels
    || {{ include "sandlot.policies.controlledBy" (dict "of" "variables.owners" "kinds" (list "SandboxClaim")) }}))
    || (request.operation == 'UPDATE' && (('agents.x-k8s.io/claim-uid' in variables.oldLabels
    && variables.labels[?'agents.x-k8s.io/claim-uid'] == variables.oldLabels[?'agents.x-k8s.io/claim-uid'])
    || ('agents.x-k8s.io/warm-pool-sandbox' in variables.oldLabels && 'agents.x-k8s.io/claim-uid' in variables.labels)
    || {{ include "sandlot.policies.controlledBy" $ofClaim }}))
    || (request.operation == 'DELETE' && ('agents.x-k8s.io/claim-uid' in variables.oldLabels
    || {{ include "sandlot.policies.controlledBy" $ofClaim }}))
{{- end -}}

{{/*
What the services may write of what hibernation adds: the snapshot-controller one label of Nodes and what it finds out about
a snapshot, the sandbox-controller the snapshots of Sandboxes.
*/}}
{{- define "sandlot.policies.nodeFences" -}}
{{- $key := "'sandlot.dev/snapshot-fingerprint'" -}}
- rule: controllers
  says: The snapshot-controller may only change the label sandlot.dev/snapshot-fingerprint of a Node
  holds: >-
    request.operation == 'UPDATE'
    && variables.labels.all(k, k == {{ $key }} || (k in variables.oldLabels && variables.labels[k] == variables.oldLabels[k]))
    && variables.oldLabels.all(k, k == {{ $key }} || k in variables.labels)
    && variables.owners == variables.oldOwners && object.spec == oldObject.spec
    && object.metadata.?annotations == oldObject.metadata.?annotations
    && object.metadata.?finalizers == oldObject.metadata.?finalizers
{{- end -}}

{{- define "sandlot.policies.snapshotFences" -}}
- rule: controllers
  says: The sandbox-controller may only create and delete SandboxSnapshots of hibernations, which a Sandbox owns
  holds: >-
    variables.who != '{{ include "sandlot.policies.account" (dict "root" . "name" "sandbox-controller") }}'
    || (request.operation == 'CREATE' && object.spec.?whenSaved.orValue('') == 'StayPaused'
    && {{ include "sandlot.policies.controlledBy" (dict "of" "variables.owners" "kinds" (list "Sandbox")) }})
    || (request.operation == 'DELETE' && {{ include "sandlot.policies.controlledBy" (dict "of" "variables.oldOwners" "kinds" (list "Sandbox")) }})
- rule: controllers
  says: The API may only create SandboxSnapshots that its clients asked for, and delete those and the hibernations that a Sandbox owns
  holds: >-
    variables.who != '{{ get (include "sandlot.policies.accounts" . | fromYaml) "api" }}'
    || (request.operation == 'CREATE' && 'sandlot.dev/e2b-snapshot' in variables.labels && variables.owners.size() == 0
    && object.spec.?whenSaved.orValue('') == 'Resume' && !object.spec.?copyOf.hasValue())
    || (request.operation == 'DELETE' && ('sandlot.dev/e2b-snapshot' in variables.oldLabels
    || {{ include "sandlot.policies.controlledBy" (dict "of" "variables.oldOwners" "kinds" (list "Sandbox")) }}))
- rule: controllers
  says: The warmpool-controller may only create and delete golden SandboxSnapshots, which a SandboxTemplate owns
  holds: >-
    variables.who != '{{ include "sandlot.policies.account" (dict "root" . "name" "warmpool-controller") }}'
    || (request.operation == 'CREATE' && object.spec.?whenSaved.orValue('') == 'Resume' && !object.spec.?templateName.hasValue()
    && 'sandlot.dev/golden' in variables.labels
    && {{ include "sandlot.policies.controlledBy" (dict "of" "variables.owners" "kinds" (list "SandboxTemplate")) }})
    || (request.operation == 'DELETE' && 'sandlot.dev/golden' in variables.oldLabels
    && {{ include "sandlot.policies.controlledBy" (dict "of" "variables.oldOwners" "kinds" (list "SandboxTemplate")) }})
- rule: controllers
  says: The snapshot-controller may delete SandboxSnapshots and hold them with a finalizer, and not change what they ask for, their labels or owners
  holds: >-
    variables.who != '{{ include "sandlot.policies.account" (dict "root" . "name" "snapshot-controller") }}'
    || request.operation == 'DELETE'
    || (request.operation == 'UPDATE' && variables.labels == variables.oldLabels && variables.owners == variables.oldOwners
    && (object.metadata.generation == oldObject.metadata.generation || object.spec == oldObject.spec))
{{- end -}}

{{- define "sandlot.policies.budgetFences" -}}
- rule: controllers
  says: The sandbox-controller may only create and delete the PodDisruptionBudget sandlot-memory, which selects Pods by the label sandlot.dev/memory
  holds: >-
    (request.operation == 'DELETE' && oldObject.metadata.name == 'sandlot-memory')
    || (request.operation == 'CREATE' && object.metadata.name == 'sandlot-memory'
    && object.spec.?selector.?matchLabels.orValue({}) == {'sandlot.dev/memory': 'protected'})
{{- end -}}

{{- define "sandlot.policies.credentialFences" -}}
{{- $names := list -}}
{{- range include "sandlot.keys.secrets" . | fromJsonArray }}{{ if not .given }}{{ $names = append $names .name }}{{ end }}{{ end -}}
- rule: controllers
  says: The key-keeper may only create and change the Secrets that hold the credentials of the release
  holds: >-
    request.operation != 'DELETE' && object.metadata.namespace == '{{ .Release.Namespace }}'
    && object.metadata.name in {{ include "sandlot.policies.list" (sortAlpha $names) }}
    && object.?type.orValue('Opaque') in ['Opaque', 'kubernetes.io/tls'] && variables.owners == variables.oldOwners
{{- end -}}

{{- define "sandlot.policies.leaseFences" -}}
- rule: controllers
  says: Egress may only create and renew the Leases of its own Pods
  holds: >-
    request.operation != 'DELETE' && object.metadata.namespace == '{{ .Release.Namespace }}'
    && object.metadata.name.startsWith('egress-{{ include "sandlot.egress.fullname" . }}-')
{{- end -}}

{{- define "sandlot.policies.startFences" -}}
- rule: controllers
  says: The snapshot-controller may only create templates that start from a SandboxSnapshot, which owns them
  holds: >-
    variables.owners.exists(o, o.?controller.orValue(false) && o.kind == 'SandboxSnapshot' && o.apiVersion.startsWith('sandlot.dev/')
    && object.spec.?restoreFrom.?snapshotName.orValue('') == o.name)
{{- end -}}

{{/* CEL: whether a list of owners has a SandboxSnapshot as its controller. */}}
{{- define "sandlot.policies.savedFor" -}}
{{ . }}.exists(o, o.?controller.orValue(false) && o.kind == 'SandboxSnapshot' && o.apiVersion.startsWith('sandlot.dev/'))
{{- end -}}

{{/* CEL: whether the spec of a disk says no more of its content than that it is a copy of a claim in the same namespace. */}}
{{- define "sandlot.policies.isClone" -}}
s.?dataSource.?kind.orValue('') == 'PersistentVolumeClaim' && dyn(s.?dataSource.?apiGroup.orValue('')) in [dyn(null), dyn('')] && !s.?dataSourceRef.?namespace.hasValue()
{{- end -}}

{{- define "sandlot.policies.savedDiskFences" -}}
- rule: controllers
  says: The snapshot-controller may only create and delete copies of disks, which a SandboxSnapshot owns
  holds: >-
    (request.operation == 'CREATE' && {{ include "sandlot.policies.savedFor" "variables.owners" }}
    && [dyn(object.spec)].all(s, {{ include "sandlot.policies.isClone" . }} && s.?volumeName.orValue('') == '' && !s.?selector.hasValue()))
    || (request.operation == 'DELETE' && {{ include "sandlot.policies.savedFor" "variables.oldOwners" }})
{{- end -}}

{{- define "sandlot.policies.childFences" -}}
{{- $ofSandbox := dict "of" "variables.owners" "kinds" (list "Sandbox") -}}
{{- $wasOfSandbox := dict "of" "variables.oldOwners" "kinds" (list "Sandbox") -}}
- rule: controllers
  says: The sandbox-controller may only create Pods, Services and disks with the label of a Sandbox, which owns its Pod and Service
  holds: >-
    request.operation != 'CREATE' || ('agents.x-k8s.io/sandbox-name-hash' in variables.labels
    && (request.resource.resource == 'persistentvolumeclaims' || {{ include "sandlot.policies.controlledBy" $ofSandbox }}))
- rule: controllers
  says: The sandbox-controller may only change Pods, Services and disks that a Sandbox owns, or that are offered to one
  holds: >-
    request.operation != 'UPDATE' || ('agents.x-k8s.io/sandbox-name-hash' in variables.labels
    && ({{ include "sandlot.policies.controlledBy" $wasOfSandbox }}
    || (!variables.oldOwners.exists(o, o.?controller.orValue(false))
    && ('agents.x-k8s.io/sandbox-name-hash' in variables.oldLabels
    || variables.oldLabels[?'agents.x-k8s.io/adoptable'].orValue('') == 'true'))))
- rule: controllers
  says: The sandbox-controller may only resize Pods that a Sandbox owns
  holds: >-
    request.?subResource.orValue('') != 'resize' || ('agents.x-k8s.io/sandbox-name-hash' in variables.oldLabels
    && {{ include "sandlot.policies.controlledBy" $wasOfSandbox }})
- rule: controllers
  says: The sandbox-controller may only delete Pods, Services and disks that a Sandbox owns
  holds: request.operation != 'DELETE' || {{ include "sandlot.policies.controlledBy" $wasOfSandbox }}
- rule: controllers
  says: The sandbox-controller may only write headless Services, for the Pod of one Sandbox
  holds: >-
    request.operation == 'DELETE' || request.resource.resource != 'services' || [dyn(object.spec)].all(s,
    s.?type.orValue('ClusterIP') == 'ClusterIP' && s.?clusterIP.orValue('') == 'None'
    && s.?externalIPs.orValue([]).size() == 0
    && 'agents.x-k8s.io/sandbox-name-hash' in s.?selector.orValue({}))
- rule: disks
  says: The sandbox-controller may only claim new disks that are empty{{ if .Values.hibernation.enabled }} or copies of disks in a SandboxSnapshot{{ end }}. Remove volumeName, selector, dataSource and dataSourceRef from the volumeClaimTemplates of the Sandbox
  holds: >-
    request.operation != 'CREATE' || request.resource.resource != 'persistentvolumeclaims'
    || variables.exempt.exists(e, e in ['all', 'disks'])
    || [dyn(object.spec)].all(s, {{ if .Values.claimController.persistentVolumes }}true{{ else }}s.?volumeName.orValue('') == ''{{ end }}
    && !s.?selector.hasValue() && ({{ if .Values.hibernation.enabled }}({{ include "sandlot.policies.isClone" . }}
    && s.?dataSource.?name.orValue('').matches('^[a-z0-9.-]+-[0-9a-f]{10}$')) || {{ end }}(!s.?dataSource.hasValue() && !s.?dataSourceRef.hasValue())))
{{- end -}}

{{- define "sandlot.policies.networkFences" -}}
{{- $isOurs := "%s.exists(o, o.kind in ['SandboxTemplate', 'SandboxClaim', 'Sandbox'] && o.apiVersion.matches(r'^(extensions\\.)?agents\\.x-k8s\\.io/'))" -}}
- rule: controllers
  says: The controllers may only write NetworkPolicies of templates, claims and Sandboxes
  holds: >-
    (request.operation == 'DELETE' || {{ printf $isOurs "variables.owners" }}
    || variables.labels[?'sandlot.dev/protects'].orValue('') in ['template', 'authored-sandboxes'])
    && (request.operation == 'CREATE' || {{ printf $isOurs "variables.oldOwners" }}
    || 'sandlot.dev/protects' in variables.oldLabels)
- rule: controllers
  says: The controllers may only write NetworkPolicies that select Pods by a label of Sandlot
  holds: >-
    request.operation == 'DELETE' || object.spec.?podSelector.?matchLabels.orValue({}).exists(k, k.startsWith('agents.x-k8s.io/'))
    || object.spec.?podSelector.?matchExpressions.orValue([]).exists(e, e.key.startsWith('agents.x-k8s.io/') && e.operator in ['Exists', 'In'])
{{- end -}}

{{/* CEL: whether an update leaves what the user of a claim asked for. The end of a claim may move: the API and a pause set it. */}}
{{- define "sandlot.policies.keepsRequest" -}}
{{- $fields := list "warmPoolRef" "sandboxTemplateRef" "warmpool" "additionalPodMetadata" "env" "envs" "volumeClaimTemplates" "dynamicVolumes" "inplaceUpdate" "replicas" -}}
(object.metadata.generation == oldObject.metadata.generation || ({{ range $index, $field := $fields }}{{ if $index }} && {{ end }}object.spec.?{{ $field }} == oldObject.spec.?{{ $field }}{{ end }}))
{{- end -}}

{{- define "sandlot.policies.claimFences" -}}
{{- $accounts := include "sandlot.policies.accounts" . | fromYaml -}}
- rule: controllers
  says: The claim-controller may annotate claims and set their end, and not change what they ask for, their labels or owners
  holds: >-
    variables.who != '{{ get $accounts "claim-controller" }}' || request.operation == 'DELETE'
    || (request.operation == 'UPDATE' && variables.owners == variables.oldOwners && {{ include "sandlot.policies.keepsRequest" . }}
    && variables.labels.all(k, k in variables.oldLabels && variables.labels[k] == variables.oldLabels[k])
    && variables.oldLabels.all(k, k == 'agents.x-k8s.io/sandbox-name' || k in variables.labels))
- rule: controllers
  says: The claim-controller may only delete claims that are to go at their end
  holds: >-
    variables.who != '{{ get $accounts "claim-controller" }}' || request.operation != 'DELETE'
    || oldObject.spec.?ttlSecondsAfterCompleted.hasValue()
    || oldObject.spec.?lifecycle.?shutdownPolicy.orValue('') in ['Delete', 'DeleteForeground']
- rule: controllers
  says: The API may only create claims that count for an API key, annotate claims and set their end, and delete them
  holds: >-
    variables.who != '{{ get $accounts "api" }}' || request.operation == 'DELETE'
    || (request.operation == 'CREATE' && object.metadata.?annotations[?'sandlot.dev/api-key-id'].orValue('') != '')
    || (request.operation == 'UPDATE' && variables.owners == variables.oldOwners
    && variables.labels == variables.oldLabels && {{ include "sandlot.policies.keepsRequest" . }})
{{- end -}}

{{- define "sandlot.policies.templateFences" -}}
- rule: controllers
  says: The warmpool-controller may label and annotate templates, and not change their spec or owners
  holds: object.metadata.generation == oldObject.metadata.generation && variables.owners == variables.oldOwners
{{- end -}}

{{/* CEL: whether a list of owners has a SandboxTemplateBuild as its controller. */}}
{{- define "sandlot.policies.ofBuild" -}}
{{ . }}.exists(o, o.?controller.orValue(false) && o.kind == 'SandboxTemplateBuild' && o.apiVersion.startsWith('sandlot.dev/'))
{{- end -}}

{{- define "sandlot.policies.buildFences" -}}
- rule: controllers
  says: The template-builder may delete SandboxTemplateBuilds, and not change what they ask for, their labels or owners
  holds: request.operation == 'DELETE'
{{- end -}}

{{- define "sandlot.policies.buildTemplateFences" -}}
- rule: controllers
  says: The template-builder may only write templates that a build made, or in which its steps run
  holds: >-
    (request.operation == 'CREATE' && 'sandlot.dev/template-build' in variables.labels
    && ('sandlot.dev/built-by' in variables.labels || {{ include "sandlot.policies.ofBuild" "variables.owners" }}))
    || (request.operation == 'UPDATE' && 'sandlot.dev/built-by' in variables.oldLabels && 'sandlot.dev/built-by' in variables.labels
    && variables.owners == variables.oldOwners)
    || (request.operation == 'DELETE' && {{ include "sandlot.policies.ofBuild" "variables.oldOwners" }})
{{- end -}}

{{- define "sandlot.policies.apiTemplateFences" -}}
- rule: controllers
  says: The API may only write templates that a build made, and no others
  holds: >-
    (request.operation == 'DELETE' || ('sandlot.dev/built-by' in variables.labels && variables.owners == variables.oldOwners))
    && (request.operation == 'CREATE' || 'sandlot.dev/built-by' in variables.oldLabels)
{{- end -}}

{{- define "sandlot.policies.volumeFences" -}}
- rule: controllers
  says: The volume-controller may only write the disk, file server, Service and NetworkPolicy called sandlot-volumes, which it has made
  holds: >-
    [request.operation == 'DELETE' ? dyn(oldObject) : dyn(object)].all(o, o.metadata.name == 'sandlot-volumes')
    && (request.operation == 'DELETE' || variables.labels[?'app.kubernetes.io/managed-by'].orValue('') == 'sandlot-volume-controller')
    && (request.operation == 'CREATE' || variables.oldLabels[?'app.kubernetes.io/managed-by'].orValue('') == 'sandlot-volume-controller')
- rule: controllers
  says: The volume-controller may only run file servers, which have no token, no other volume than the disk and no privilege
  holds: >-
    request.operation == 'DELETE' || request.resource.resource != 'deployments' || [dyn(object).spec.template.spec].all(s,
    s.?automountServiceAccountToken.orValue(true) == false && s.?serviceAccountName.orValue('default') in ['', 'default']
    && s.?securityContext.?runAsNonRoot.orValue(false) && !s.?hostNetwork.orValue(false) && !s.?hostPID.orValue(false)
    && !s.?hostIPC.orValue(false) && s.?initContainers.orValue([]).size() == 0
    && s.?volumes.orValue([]).all(v, v.?persistentVolumeClaim.?claimName.orValue('') == 'sandlot-volumes')
    && s.containers.all(c, c.image == '{{ include "sandlot.volumes.image" . }}'
    && c.?securityContext.?allowPrivilegeEscalation.orValue(true) == false && !c.?securityContext.?privileged.orValue(false)
    && c.?securityContext.?capabilities.?add.orValue([]).size() == 0 && c.?envFrom.orValue([]).size() == 0
    && c.?env.orValue([]).all(e, !has(e.valueFrom))))
{{- end -}}

{{- define "sandlot.policies.buildClaimFences" -}}
- rule: controllers
  says: The template-builder may only create and delete claims for the steps of a build, which owns them
  holds: >-
    (request.operation == 'CREATE' && 'sandlot.dev/template-build' in variables.labels
    && {{ include "sandlot.policies.ofBuild" "variables.owners" }})
    || (request.operation == 'DELETE' && {{ include "sandlot.policies.ofBuild" "variables.oldOwners" }})
{{- end -}}

{{- define "sandlot.policies.buildPoolFences" -}}
- rule: controllers
  says: The template-builder may only create pools of templates, which own them
  holds: >-
    request.operation == 'CREATE'
    && {{ include "sandlot.policies.controlledBy" (dict "of" "variables.owners" "kinds" (list "SandboxTemplate")) }}
{{- end -}}

{{- define "sandlot.policies.poolFences" -}}
{{- $isPlain := "!k.matches(r'^((extensions\\.)?agents\\.x-k8s\\.io|sandlot\\.dev)/')" -}}
- rule: controllers
  says: The API may only create pools that have no more than a template and a size, scale pools, and delete them
  holds: >-
    request.operation == 'DELETE'
    || (request.operation == 'CREATE' && dyn(object.spec).all(k, k in ['replicas', 'sandboxTemplateRef'])
    && variables.owners.size() == 0 && variables.labels.all(k, {{ $isPlain }})
    && object.metadata.?annotations.orValue({}).all(k, {{ $isPlain }}))
    || (request.operation == 'UPDATE' && variables.owners == variables.oldOwners && variables.labels == variables.oldLabels
    && object.metadata.?annotations == oldObject.metadata.?annotations
    && [dyn(object.spec)].all(n, [dyn(oldObject.spec)].all(o, n.all(k, k == 'replicas' || (k in o && n[k] == o[k]))
    && o.all(k, k == 'replicas' || k in n))))
{{- end -}}

{{- define "sandlot.policies.secretFences" -}}
{{- $accounts := include "sandlot.policies.accounts" . | fromYaml -}}
{{- $isKey := "'sandlot.dev/api-key' in variables.%s" -}}
{{- $vault := include "sandlot.api.vaultNamespace" . -}}
{{- with $vault }}
- rule: controllers
  says: The API may only write secrets of its clients and headers of claims in the vault, and these nowhere else
  holds: >-
    variables.who != '{{ get $accounts "api" }}'
    || [request.operation == 'DELETE' ? oldObject : object].all(s,
    (s.?type.orValue('Opaque') in ['sandlot.dev/vault-secret', 'sandlot.dev/egress-headers']) == (request.namespace == '{{ . }}'))
- rule: controllers
  says: The API may only write secrets with the namespace of its clients, and headers with their claim, and never give them to another
  holds: >-
    variables.who != '{{ get $accounts "api" }}' || request.namespace != '{{ . }}' || request.operation == 'DELETE'
    || (request.operation == 'CREATE' && variables.labels[?'sandlot.dev/egress-credential'].orValue('') == 'true'
    && variables.owners.size() == 0
    && ((object.type == 'sandlot.dev/vault-secret' && object.metadata.?name.orValue('').startsWith('secret-')
    && 'sandlot.dev/tenant' in variables.labels)
    || (object.type == 'sandlot.dev/egress-headers' && object.metadata.?name.orValue('').startsWith('egress-')
    && object.metadata.?annotations[?'sandlot.dev/stored-for'].hasValue())))
    || (request.operation == 'UPDATE' && variables.labels == variables.oldLabels && variables.owners == variables.oldOwners
    && object.metadata.?annotations[?'sandlot.dev/stored-for'] == oldObject.metadata.?annotations[?'sandlot.dev/stored-for'])
{{- end }}
{{- $hooks := include "sandlot.webhooks.namespace" . -}}
{{- with $hooks }}
- rule: controllers
  says: The API may only write webhooks of its clients in their namespace, and these nowhere else, and never give them to others
  holds: >-
    variables.who != '{{ get $accounts "api" }}'
    || ([request.operation == 'DELETE' ? oldObject : object].all(s,
    (s.?type.orValue('Opaque') == 'sandlot.dev/webhook') == (request.namespace == '{{ . }}'))
    && (request.namespace != '{{ . }}' || request.operation == 'DELETE'
    || (request.operation == 'CREATE' && 'sandlot.dev/webhook' in variables.labels && 'sandlot.dev/tenant' in variables.labels
    && variables.owners.size() == 0 && object.metadata.?name.orValue('').startsWith('webhook-'))
    || (request.operation == 'UPDATE' && variables.labels == variables.oldLabels && variables.owners == variables.oldOwners)))
{{- end }}
- rule: controllers
  says: The API may only write Secrets of API keys, and create Secrets with the variables of claims{{ if .Values.builds.enabled }} and with credentials of builds{{ end }}
  holds: >-
    variables.who != '{{ get $accounts "api" }}'{{ range compact (list $vault $hooks) }} || request.namespace == '{{ . }}'{{ end }}
    || (request.operation == 'CREATE' && object.type == 'sandlot.dev/api-key' && {{ printf $isKey "labels" }})
    || (request.operation == 'CREATE' && object.type == 'Opaque' && object.metadata.?name.orValue('').matches('{{ ternary "^(envs|build)-" "^envs-" .Values.builds.enabled }}')
    && object.metadata.?annotations[?'sandlot.dev/stored-for'].hasValue())
    || (request.operation == 'UPDATE' && {{ printf $isKey "oldLabels" }} && {{ printf $isKey "labels" }})
    || (request.operation == 'DELETE' && {{ printf $isKey "oldLabels" }})
- rule: controllers
  says: The sandbox-controller may only create Secrets with the key of a Sandbox, which owns them
  holds: >-
    variables.who != '{{ get $accounts "sandbox-controller" }}'
    || (request.operation == 'CREATE' && object.type == 'sandlot.dev/runtime-identity'
    && object.?immutable.orValue(false) && 'agents.x-k8s.io/sandbox-name-hash' in variables.labels
    && dyn(object).?data.orValue({}).all(k, k == 'identity.key')
    && {{ include "sandlot.policies.controlledBy" (dict "of" "variables.owners" "kinds" (list "Sandbox")) }})
{{- if .Values.builds.enabled }}
- rule: controllers
  says: The template-builder may only delete Secrets with credentials that the API stored for builds
  holds: >-
    variables.who != '{{ include "sandlot.policies.account" (dict "root" . "name" "template-builder") }}'
    || (request.operation == 'DELETE' && oldObject.metadata.?name.orValue('').startsWith('build-')
    && oldObject.metadata.?annotations[?'sandlot.dev/stored-for'].hasValue())
{{- end }}
- rule: controllers
  says: The claim-controller may only delete Secrets with the variables of claims
  holds: >-
    variables.who != '{{ get $accounts "claim-controller" }}'
    || (request.operation == 'DELETE' && oldObject.metadata.?name.orValue('').startsWith('envs-')
    && oldObject.metadata.?annotations[?'sandlot.dev/stored-for'].hasValue())
{{- end -}}

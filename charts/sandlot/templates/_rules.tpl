{{/*
What each controller may do with the objects of the namespaces it serves, and nothing more. Clusters with
OwnerReferencesPermissionEnforcement require `…/finalizers` update of a client that sets blockOwnerDeletion. The end-to-end
tests end with a look for rights that nothing used (e2e/src/security/least-privilege.last.test.ts).
*/}}
{{- define "sandlot.rules.events" -}}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{- define "sandlot.rules.sandbox-controller" -}}
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [delete, list, patch, watch]
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes/status]
  verbs: [patch]
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods, services, persistentvolumeclaims]
  verbs: [create, delete, get, list, patch, watch]
# The CPU that a claim asks for. An admission policy allows it for Pods of Sandboxes.
- apiGroups: [""]
  resources: [pods/resize]
  verbs: [patch]
{{- if eq .Values.runtime.delivery "ImageVolume" }}
# The keys of Sandboxes. An admission policy allows no other Secret.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
{{- end }}
{{- if .Values.hibernation.enabled }}
# Suspending a Sandbox that hibernates saves its Pod first; a resume uses what was saved up.
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshots]
  verbs: [create, delete, get, list, watch]
{{- end }}
{{- if and .Values.hibernation.enabled .Values.hibernation.drain.enabled }}
# Sandboxes leave a node that is being emptied with their memory. Until then the budgets make evictions wait.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshotclasses]
  verbs: [list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [create, list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  resourceNames: [sandlot-memory]
  verbs: [delete]
{{- end }}
# No Pod is created before its NetworkPolicy is there, unless the template manages none.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxtemplates]
  verbs: [get]
{{ include "sandlot.rules.events" . }}
# The reason why a disk has no volume, or a Pod does not start, is in their Events alone.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list]
{{- end -}}

{{- define "sandlot.rules.snapshot-controller" -}}
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshots]
  verbs: [delete, get, list, patch, watch]
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshots/status]
  verbs: [patch]
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshots/finalizers]
  verbs: [update]
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshotclasses]
  verbs: [list, watch]
# The Sandbox of a snapshot, before its Pod is saved.
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [get]
# Pods that are saved and restored, and those of the node component.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
# The template of a snapshot that asks for one, and the one that its Sandbox came from.
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxtemplates]
  verbs: [create, get]
# Copies of the disks of a Sandbox, for a snapshot that others start from. An admission policy allows no other claim.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [create, delete, get]
# The label of Nodes that can restore each other's snapshots. An admission policy allows no other change.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, patch, watch]
{{ include "sandlot.rules.events" . }}
# The reason why the copy of a disk has no volume is in its Events alone.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list]
{{- end -}}

{{- define "sandlot.rules.warmpool-controller" -}}
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxwarmpools]
  verbs: [list, watch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxtemplates]
  verbs: [list, patch, watch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxwarmpools/status, sandboxtemplates/status]
  verbs: [patch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxwarmpools/finalizers]
  verbs: [update]
# The policy of a template that is gone stays while Pods of it run.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [create, delete, list, patch, watch]
{{- if .Values.hibernation.enabled }}
# The golden snapshots of templates.
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshots]
  verbs: [create, delete, list, watch]
{{- end }}
{{ include "sandlot.rules.events" . }}
{{- end -}}

{{- define "sandlot.rules.claim-controller" -}}
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxclaims]
  verbs: [delete, get, list, patch, watch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxclaims/status]
  verbs: [patch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxclaims/finalizers]
  verbs: [update]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxtemplates, sandboxwarmpools]
  verbs: [list, watch]
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [create, delete, get, list, patch, watch]
# Policies of templates are narrowed for claims with egress rules of their own.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, get, list, patch, watch]
{{ include "sandlot.rules.events" . }}
{{- $namesEgress := and .Values.egress.enabled .Values.egress.credentials.enabled .Values.egress.credentials.namespaceSecrets }}
{{- if or .Values.claimController.envsFromSecrets $namesEgress }}
# The controller reads the labels of a Secret before a claim may name it. Values of sandlot.dev/claim-env go to the daemon alone.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- if .Values.claimController.persistentVolumes }}
# The controller reads the label sandlot.dev/claimable-by of a PersistentVolume before a claim may name it.
- apiGroups: [""]
  resources: [persistentvolumes]
  verbs: [get]
{{- end }}
{{- end -}}

{{- define "sandlot.rules.api" -}}
# The API creates, prolongs and kills sandboxes as claims.
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxclaims]
  verbs: [create, delete, get, list, patch, watch]
# A pause or a resume is an edit of the Sandbox.
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [get, list, patch, watch]
{{- if .Values.hibernation.enabled }}
# Clients make, list and delete snapshots and fork; a pause or a connect without memory drops what was saved. A policy keeps
# the API from all others. The snapshot-controller makes the templates that start from them.
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshots]
  verbs: [create, delete, get, list, watch]
{{- end }}
# Holders of admin keys create, scale and delete pools.
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxwarmpools]
  verbs: [create, delete, get, list, patch, watch]
{{- if .Values.builds.enabled }}
# Clients have templates built, give them tags, publish and delete them. A policy keeps the API from other templates.
- apiGroups: [sandlot.dev]
  resources: [sandboxtemplatebuilds]
  verbs: [create, delete, get, list, patch, watch]
{{- end }}
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxtemplates]
  verbs: [{{ if .Values.builds.enabled }}create, delete, {{ end }}get, list, {{ if .Values.builds.enabled }}patch, {{ end }}watch]
{{- end -}}

{{- define "sandlot.rules.volume-controller" -}}
# The disk, the file server and its Service and NetworkPolicy in each namespace that has volumes: all are called sandlot-volumes, and an
# admission policy allows no others. A create cannot be limited to a name.
- apiGroups: [""]
  resources: [persistentvolumeclaims, services]
  verbs: [create]
- apiGroups: [""]
  resources: [persistentvolumeclaims, services]
  resourceNames: [sandlot-volumes]
  verbs: [delete, get, patch]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [create]
- apiGroups: [apps]
  resources: [deployments]
  resourceNames: [sandlot-volumes]
  verbs: [delete, get, patch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  resourceNames: [sandlot-volumes]
  verbs: [delete, get, patch]
{{- end -}}

{{- define "sandlot.rules.template-builder" -}}
- apiGroups: [sandlot.dev]
  resources: [sandboxtemplatebuilds]
  verbs: [delete, get, list, watch]
- apiGroups: [sandlot.dev]
  resources: [sandboxtemplatebuilds/status]
  verbs: [patch]
# The templates that builds make, and those of the sandboxes in which their steps run. An admission policy allows no others.
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxtemplates]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxclaims]
  verbs: [create, delete, get{{ if .Values.builds.images.collect }}, list{{ end }}]
{{- if gt (int .Values.builds.pool.replicas) 0 }}
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxwarmpools]
  verbs: [create]
{{- end }}
{{- if .Values.builds.images.collect }}
# These may need an image of the registry. The collector deletes none unless it can read all of them.
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxwarmpools]
  verbs: [list]
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [list]
- apiGroups: [sandlot.dev]
  resources: [sandboxsnapshots]
  verbs: [list]
{{- end }}
{{- if .Values.builds.namespaceSecrets }}
# Builds name Secrets with credentials for registries, by a label, and no Role can be limited to one.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- end -}}

{{/* Its rights are in the namespace of webhooks alone (api-secrets.yaml). */}}
{{- define "sandlot.rules.webhooks" -}}{{- end -}}

{{- define "sandlot.rules.egress" -}}
# Whose an address is, and what its template and its claim allow. It writes none of these.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [list, watch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxclaims]
  verbs: [list, watch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [list, watch]
# Events of claims. None is repeated, so none is patched.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- if and .Values.egress.credentials.enabled .Values.egress.credentials.namespaceSecrets }}
# Rules name Secrets, whose values the proxy sends. The process asks for those with the label sandlot.dev/egress-credential, and no
# Role can be limited to a label.
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch]
{{- end }}
{{- end -}}

{{- define "sandlot.rules.egressOwn" -}}
# By its Lease a replica measures how old its view of the cluster is. The Lease has the name of the Pod, so no rule can name it{{ if ne .Values.policies.mode "off" }};
# the policy {{ include "sandlot.fullname" . }}-controllers-leases does{{ end }}.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, list, patch, watch]
# The addresses to which the resolver leads sandboxes.
- apiGroups: [""]
  resources: [services]
  resourceNames: [{{ include "sandlot.egress.fullname" . }}, {{ include "sandlot.egress.fullname" . }}-inspect]
  verbs: [list, watch]
{{- end -}}

{{- define "sandlot.rules.egressVault" -}}
# What clients of the API stored for rules. The proxy sends it, and no client reads it.
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch]
{{- end -}}

{{- define "sandlot.rules.egressAddress" -}}
# The address of the resolver, which Pods get as their name server.
- apiGroups: [""]
  resources: [services]
  resourceNames: [{{ include "sandlot.egress.fullname" . }}]
  verbs: [list, watch]
{{- end -}}

{{- define "sandlot.rules.gateway" -}}
# The gateway reads where sandboxes are, and nothing else.
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [get, list, watch]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxclaims]
  verbs: [get, list, watch]
{{- end -}}

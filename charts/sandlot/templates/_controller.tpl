{{/* Environment of a controller; call with (dict "root" $ "name" NAME "values" VALUES). */}}
{{- define "sandlot.controller.env" -}}
{{- $values := .root.Values -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- { name: BUILD_VERSION, value: {{ .values.image.tag | default $values.image.tag | default .root.Chart.AppVersion | quote }} }
- { name: LOG_LEVEL, value: {{ $values.log.level | quote }} }
- { name: PROBE_PORT, value: {{ $values.controller.probePort | quote }} }
- { name: METRICS_PORT, value: {{ $values.controller.metricsPort | quote }} }
- { name: LEADER_ELECT, value: {{ $values.controller.leaderElection | quote }} }
{{- /* One leader decides over all builds, or reads all events; every replica does the work. */}}
{{- with $values.controllers.shards }}
{{- if and (gt (int .) 1) (not (has $.name (list "template-builder" "webhooks"))) }}
{{- if not $values.controller.leaderElection }}
{{- fail "controllers.shards above 1 needs controller.leaderElection, because each shard has a lease" }}
{{- end }}
- { name: SHARDS, value: {{ . | quote }} }
{{- end }}
{{- end }}
- { name: CONCURRENCY, value: {{ .values.concurrency | quote }} }
{{- include "sandlot.namespaces.env" .root }}
{{- if and (eq .name "claim-controller") $values.claimController.persistentVolumes }}
{{- include "sandlot.namespaces.checkCluster" (dict "root" .root "value" "claimController.persistentVolumes" "why" "PersistentVolumes") }}
{{- end }}
{{- include (printf "sandlot.env.%s" .name) $values }}
{{- if eq .name "snapshot-controller" }}
{{- include "sandlot.hibernation.env" .root }}
{{- end }}
{{- include "sandlot.egress.settings" . }}
{{- if and (eq .name "claim-controller") $values.api.enabled }}
- { name: ENVS_NAMESPACE, value: {{ include "sandlot.api.envsNamespace" .root }} }
{{- end }}
{{- if eq .name "claim-controller" }}
{{- include "sandlot.usage.env" .root }}
{{- end }}
{{- with include (printf "sandlot.env.runtime.%s" .name) .root }}
{{ . }}
{{- end }}
{{- with $values.metrics.templateLabels }}
- { name: METRICS_TEMPLATE_LABELS, value: {{ join "," . | quote }} }
{{- end }}
{{- with $values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
- { name: TRACE_SAMPLE_RATIO, value: {{ $values.tracing.sampleRatio | quote }} }
- { name: TRACE_SLOW_WARM, value: {{ $values.tracing.slow.warm | quote }} }
- { name: TRACE_SLOW_COLD, value: {{ $values.tracing.slow.cold | quote }} }
{{- with $values.tracing.clusterUid }}
- { name: K8S_CLUSTER_UID, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- /* Volumes have no events. */}}
{{- $natsUrl := include "sandlot.controller.natsUrl" . }}
{{- with $natsUrl }}
- { name: NATS_URL, value: {{ . | quote }} }
- { name: NATS_USER, value: {{ $.name }} }
- { name: NATS_PASSWORD_FILE, value: {{ include "sandlot.nats.passwordFile" (dict "root" $.root "user" $.name) }} }
- { name: NATS_DECLARE_STREAMS, value: "false" }
{{- end }}
{{- if and $natsUrl (include "sandlot.nats.caSecret" .root) }}
- { name: NATS_CA_FILE, value: /etc/sandlot/nats/ca.crt }
{{- end }}
{{- with include "sandlot.redis.url" .root }}
- { name: REDIS_URL, value: {{ . | quote }} }
- { name: REDIS_USER, value: {{ include "sandlot.redis.user" $ }} }
- name: REDIS_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.redis.secretName" $.root }}, key: {{ include "sandlot.redis.passwordKey" $ }} } }
- { name: REDIS_PREFIX, value: {{ include "sandlot.redis.prefix" $.root }} }
- { name: DEADLINE_AUDIT_INTERVAL, value: {{ $values.redis.auditInterval | quote }} }
{{- if include "sandlot.redis.caSecret" $.root }}
- { name: REDIS_CA_FILE, value: /etc/sandlot/redis/ca.crt }
{{- end }}
{{- end }}
{{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraEnv") }}
{{ . }}
{{- end }}
{{- end -}}

{{/* Where NATS is for a controller; empty for one without events. Call with its scope. */}}
{{- define "sandlot.controller.natsUrl" -}}
{{- if ne .name "volume-controller" }}{{ include "sandlot.nats.url" .root }}{{ end -}}
{{- end -}}

{{/* Settings of this controller alone. */}}
{{- define "sandlot.env.sandbox-controller" }}
- { name: CLUSTER_DOMAIN, value: {{ .clusterDomain | quote }} }
- { name: UNSET_SERVICE, value: {{ .controller.unsetService | quote }} }
- { name: NETWORK_PROTECT_AUTHORED_SANDBOXES, value: {{ .network.protectAuthoredSandboxes | quote }} }
{{- if .hibernation.enabled }}
- { name: SNAPSHOTS_ENABLED, value: "true" }
- { name: DRAIN_ENABLED, value: {{ .hibernation.drain.enabled | quote }} }
{{- end }}
{{- end -}}

{{- define "sandlot.env.snapshot-controller" }}{{- end -}}

{{- define "sandlot.env.volume-controller" }}{{- end -}}

{{- define "sandlot.env.warmpool-controller" }}
{{- include "sandlot.env.sandboxes" . }}
{{- with .network.extraBlockedCIDRs }}
- { name: NETWORK_EXTRA_BLOCKED_CIDRS, value: {{ join "," . | quote }} }
{{- end }}
{{- with .network.extraEgress }}
- { name: NETWORK_EXTRA_EGRESS, value: {{ toJson . | quote }} }
{{- end }}
- { name: NETWORK_PROTECT_AUTHORED_SANDBOXES, value: {{ .network.protectAuthoredSandboxes | quote }} }
{{- if .hibernation.enabled }}
- { name: SNAPSHOTS_ENABLED, value: "true" }
{{- end }}
{{- end -}}

{{- define "sandlot.env.claim-controller" }}
{{- include "sandlot.env.sandboxes" . }}
- { name: ALLOWED_LABEL_DOMAINS, value: {{ join "," .claimController.allowedLabelDomains | quote }} }
- { name: WRITE_BEHIND_WINDOW, value: {{ .claimController.writeBehindWindow | quote }} }
- { name: ENVS_FROM_SECRETS, value: {{ .claimController.envsFromSecrets | quote }} }
- { name: PERSISTENT_VOLUMES, value: {{ .claimController.persistentVolumes | quote }} }
{{- end -}}

{{/* Defaults of sandboxes: the same for both controllers that create them, or pool members would look stale. */}}
{{- define "sandlot.env.sandboxes" }}
- { name: SANDBOX_NAMESERVERS, value: {{ join "," .sandboxes.nameservers | quote }} }
- { name: SECURITY_DEFAULTS, value: {{ .sandboxes.securityDefaults | quote }} }
- { name: SANDBOX_RUNTIME_CLASS, value: {{ .sandboxes.runtimeClassName | quote }} }
{{- with .sandboxes.resources }}
- { name: SANDBOX_RESOURCES, value: {{ toJson . | quote }} }
{{- end }}
{{- end -}}

{{/* Secrets that a controller reads as files: volume -> (secret, folder, keys). */}}
{{- define "sandlot.controller.secrets" -}}
{{- $secrets := dict -}}
{{- range $server := ternary (list "nats" "redis") (list "redis") (ne (include "sandlot.controller.natsUrl" .) "") -}}
{{- with include (printf "sandlot.%s.caSecret" $server) $.root -}}
{{- $_ := set $secrets (printf "%s-ca" $server) (dict "secret" . "folder" $server "keys" (list "ca.crt")) -}}
{{- end -}}
{{- end -}}
{{- if eq .name "snapshot-controller" -}}
{{- $secret := include "sandlot.hibernation.tlsSecret" (dict "root" .root "side" .name) -}}
{{- $_ := set $secrets "snapshot-agent" (dict "secret" $secret "folder" "snapshot-agent" "keys" (list "ca.crt" "tls.crt" "tls.key")) -}}
{{- end -}}
{{- if and (eq .name "sandbox-controller") (include "sandlot.egress.inspects" .root) -}}
{{- /* The certificate, which Pods get to trust, and not the key. */}}
{{- $_ := set $secrets "egress-ca" (dict "secret" (include "sandlot.egress.caSecret" .root) "folder" "egress-ca" "keys" (list "ca.crt")) -}}
{{- end -}}
{{- toYaml $secrets -}}
{{- end -}}

{{- define "sandlot.controller.mounts" -}}
{{- range $volume, $files := include "sandlot.controller.secrets" . | fromYaml }}
- { name: {{ $volume }}, mountPath: /etc/sandlot/{{ $files.folder }}, readOnly: true }
{{- end }}
{{- if include "sandlot.controller.natsUrl" . }}
- { name: nats-password, mountPath: /etc/sandlot/nats-password, readOnly: true }
{{- end }}
{{- end -}}

{{- define "sandlot.controller.volumes" -}}
{{- range $volume, $files := include "sandlot.controller.secrets" . | fromYaml }}
- name: {{ $volume }}
  {{- $items := list }}
  {{- range $files.keys }}{{ $items = append $items (printf "{ key: %s, path: %s }" . .) }}{{ end }}
  secret: { secretName: {{ $files.secret }}, items: [{{ join ", " $items }}] }
{{- end }}
{{- if include "sandlot.controller.natsUrl" . }}
{{ include "sandlot.nats.passwordVolume" (dict "root" .root "user" .name) }}
{{- end }}
{{- end -}}

{{/* Probes of different depth: started, able to work, alive at all. */}}
{{- define "sandlot.controller.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: probes }
  periodSeconds: 1
  failureThreshold: 120
readinessProbe:
  httpGet: { path: /readyz, port: probes }
  periodSeconds: 2
  failureThreshold: 3
livenessProbe:
  httpGet: { path: /livez, port: probes }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "sandlot.controller.image" -}}
{{- $image := .root.Values.image -}}
{{- include "sandlot.image" (dict "root" .root "registry" $image.registry "repository" $image.repository "name" .name "digest" .values.image.digest "tag" (coalesce .values.image.tag $image.tag .root.Chart.AppVersion)) -}}
{{- end -}}

{{/* Environment of the API; call with its scope. */}}
{{- define "sandlot.api.env" -}}
{{- $scope := . -}}
{{- with .root -}}
{{- $values := .Values -}}
{{- $api := $values.api -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- { name: BUILD_VERSION, value: {{ $api.image.tag | default $values.image.tag | default .Chart.AppVersion | quote }} }
- { name: LOG_LEVEL, value: {{ $values.log.level | quote }} }
- { name: PROBE_PORT, value: {{ $values.controller.probePort | quote }} }
- { name: METRICS_PORT, value: {{ $values.controller.metricsPort | quote }} }
{{- include "sandlot.namespaces.env" . }}
- { name: API_PORT, value: "8080" }
- { name: ADMIN_PORT, value: "8082" }
- { name: ADMIN_LISTEN, value: {{ ternary "all" "loopback" (ne (len $api.admin.allowFrom) 0) }} }
- { name: KEYS_NAMESPACE, value: {{ include "sandlot.api.keysNamespace" . }} }
- { name: ENVS_NAMESPACE, value: {{ include "sandlot.api.envsNamespace" . }} }
{{- with include "sandlot.api.vaultNamespace" . }}
- { name: VAULT_NAMESPACE, value: {{ . }} }
{{- end }}
{{- with include "sandlot.volumes.namespace" . }}
- { name: VOLUMES_NAMESPACE, value: {{ . }} }
- { name: VOLUMES_LIMIT, value: {{ $values.volumes.perNamespace | int64 | quote }} }
{{- end }}
{{ include "sandlot.env.tokenKeys" . }}
{{- if and $values.gateway.enabled $values.gateway.domains }}
- { name: SANDBOX_DOMAIN, value: {{ first $values.gateway.domains | quote }} }
{{- end }}
{{- if $values.gateway.enabled }}
- { name: GATEWAY_URL, value: "http://{{ include "sandlot.fullname" . }}-gateway.{{ .Release.Namespace }}.svc:8080" }
{{- end }}
{{- include "sandlot.api.logStore" . }}
{{- include "sandlot.egress.settings" $scope }}
{{- include "sandlot.builds.apiSettings" . }}
{{- include "sandlot.webhooks.apiSettings" . }}
- { name: CLIENT_TRACES, value: {{ $api.clientTraces | quote }} }
- { name: CREATE_TIMEOUT, value: {{ $api.createTimeout | quote }} }
{{- if $values.hibernation.enabled }}
- { name: SNAPSHOTS_ENABLED, value: "true" }
{{- end }}
- { name: PAUSE_MEMORY_FALLBACK, value: {{ ternary (not $values.hibernation.enabled) $api.pauseMemoryFallback (kindIs "invalid" $api.pauseMemoryFallback) | quote }} }
- { name: TRANSITION_TIMEOUT, value: {{ $api.transitionTimeout | quote }} }
- { name: MAX_SANDBOX_TIMEOUT, value: {{ $api.quotas.maxTimeout | quote }} }
- { name: DEFAULT_SANDBOX_LIMIT, value: {{ $api.quotas.sandboxes | int64 | quote }} }
- { name: DEFAULT_CREATE_RATE, value: {{ $api.quotas.createsPerSecond | int64 | quote }} }
{{- with $values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
- { name: TRACE_SAMPLE_RATIO, value: {{ $values.tracing.sampleRatio | quote }} }
- { name: TRACE_SLOW_COLD, value: {{ $values.tracing.slow.cold | quote }} }
{{- with $values.tracing.clusterUid }}
- { name: K8S_CLUSTER_UID, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- with include "sandlot.nats.url" . }}
- { name: NATS_URL, value: {{ . | quote }} }
- { name: NATS_USER, value: api }
- { name: NATS_PASSWORD_FILE, value: {{ include "sandlot.nats.passwordFile" (dict "root" $scope.root "user" "api") }} }
{{- end }}
{{- if include "sandlot.nats.caSecret" . }}
- { name: NATS_CA_FILE, value: /etc/sandlot/nats/ca.crt }
{{- end }}
{{- include "sandlot.usage.env" . }}
{{- include "sandlot.api.redisEnv" . }}
{{- with include "sandlot.pod.extra" (dict "scope" $scope "field" "extraEnv") }}
{{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* How the API reads logs that their nodes have no more. */}}
{{- define "sandlot.api.logStore" -}}
{{- with .Values.api.logs.store }}
{{- if and .auth.type (not .auth.existingSecret) }}
{{- fail "api.logs.store.auth.existingSecret: name the Secret with the credentials for the store" }}
{{- end }}
{{- if and .auth.existingSecret (not .auth.type) }}
{{- fail "api.logs.store.auth.type: say what api.logs.store.auth.existingSecret has, bearer or basic" }}
{{- end }}
{{- if .url }}
- { name: LOG_STORE_URL, value: {{ .url | quote }} }
{{- with .tenant }}
- { name: LOG_STORE_TENANT, value: {{ . | quote }} }
{{- end }}
- { name: LOG_STORE_NAMESPACE_LABEL, value: {{ .labels.namespace | quote }} }
- { name: LOG_STORE_POD_LABEL, value: {{ .labels.pod | quote }} }
{{- with .selector }}
- { name: LOG_STORE_SELECTOR, value: {{ toJson . | quote }} }
{{- end }}
{{- $secret := .auth.existingSecret }}
{{- $entries := dict "bearer" (dict "LOG_STORE_TOKEN" "token") "basic" (dict "LOG_STORE_USER" "username" "LOG_STORE_PASSWORD" "password") }}
{{- range $variable, $entry := get $entries .auth.type | default dict }}
- name: {{ $variable }}
  valueFrom: { secretKeyRef: { name: {{ $secret | quote }}, key: {{ $entry }} } }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Where the history of metrics is. */}}
{{- define "sandlot.api.redisEnv" -}}
{{- $client := dict "root" . "name" "api" }}
{{- with include "sandlot.redis.url" . }}
- { name: REDIS_URL, value: {{ . | quote }} }
- { name: REDIS_USER, value: {{ include "sandlot.redis.user" $client }} }
- name: REDIS_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.redis.secretName" $client.root }}, key: {{ include "sandlot.redis.passwordKey" $client }}{{ if include "sandlot.redis.mayLack" (dict "root" $client.root "user" "api") }}, optional: true{{ end }} } }
- { name: REDIS_PREFIX, value: {{ include "sandlot.redis.prefix" $client.root }} }
{{- if include "sandlot.redis.caSecret" $client.root }}
- { name: REDIS_CA_FILE, value: /etc/sandlot/redis/ca.crt }
{{- end }}
{{- end }}
{{- end -}}

{{/* Whether the ledger of usage is kept: it is in NATS. */}}
{{- define "sandlot.usage.env" -}}
{{- if and .Values.usage.enabled (include "sandlot.nats.url" .) }}
- { name: USAGE_ENABLED, value: "true" }
{{- end }}
{{- end -}}

{{/* Where the Secrets of API keys are. */}}
{{- define "sandlot.api.keysNamespace" -}}
{{- .Values.api.keysNamespace | default (printf "%s-keys" .Release.Namespace) -}}
{{- end -}}

{{/* Where the variables of sandboxes are: the API creates these Secrets, the claim-controller reads them. */}}
{{- define "sandlot.api.envsNamespace" -}}
{{- .Values.api.envsNamespace | default (printf "%s-envs" .Release.Namespace) -}}
{{- end -}}

{{/* Where the secrets of teams and the values of headers are; nothing without credentials of egress, or without the API. */}}
{{- define "sandlot.api.vaultNamespace" -}}
{{- if and .Values.api.enabled .Values.egress.enabled .Values.egress.credentials.enabled -}}
{{- .Values.egress.credentials.vaultNamespace | default (printf "%s-vault" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{/*
Refuses namespaces that would open other Secrets to the API, and an upgrade that would leave the keys of an earlier version
behind, which kept them in the namespace of the release.
*/}}
{{- define "sandlot.api.checkNamespaces" -}}
{{- $keys := include "sandlot.api.keysNamespace" . -}}
{{- $envs := include "sandlot.api.envsNamespace" . -}}
{{- $vault := include "sandlot.api.vaultNamespace" . -}}
{{- if and $vault (has $vault (list $keys $envs .Release.Namespace)) -}}
{{- fail (printf "egress.credentials.vaultNamespace (%s) must differ from api.keysNamespace (%s), api.envsNamespace (%s) and the namespace of the release (%s): the egress proxy would get Secrets that are not for it" $vault $keys $envs .Release.Namespace) -}}
{{- end -}}
{{- if or (eq $keys $envs) (eq $keys .Release.Namespace) (eq $envs .Release.Namespace) -}}
{{- fail (printf "api.keysNamespace (%s), api.envsNamespace (%s) and the namespace of the release (%s) must differ: the API and the claim-controller would reach Secrets that are not for them" $keys $envs .Release.Namespace) -}}
{{- end -}}
{{- $hooks := include "sandlot.webhooks.namespace" . -}}
{{- if and $hooks (has $hooks (compact (list $keys $envs $vault .Release.Namespace))) -}}
{{- fail (printf "webhooks.namespace (%s) must differ from the namespace of the release and from those of keys, variables and secrets: the webhooks process would get Secrets that are not for it" $hooks) -}}
{{- end -}}
{{- $left := list -}}
{{- range (lookup "v1" "Secret" .Release.Namespace "").items | default list -}}
{{- if eq (dig "metadata" "labels" "sandlot.dev/api-key" "" .) "true" -}}
{{- if not (lookup "v1" "Secret" $keys .metadata.name) -}}
{{- $left = append $left .metadata.name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $left -}}
{{- fail (printf "%d API keys are still in namespace %s, where the API no longer looks for them. Copy them first: create a namespace, run \"npx sandlot keys copy --from %s --keys-namespace NAME\", and upgrade with api.keysNamespace=NAME" (len $left) .Release.Namespace .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{/* Files of the API: those of a client of NATS and of Redis. */}}
{{- define "sandlot.api.mounts" -}}
{{- if include "sandlot.nats.url" . }}
{{- include "sandlot.nats.mounts" (dict "root" . "user" "api") }}
{{- end }}
{{- if and (include "sandlot.redis.url" .) (include "sandlot.redis.caSecret" .) }}
- { name: redis-ca, mountPath: /etc/sandlot/redis, readOnly: true }
{{- end }}
{{- end -}}

{{- define "sandlot.api.volumes" -}}
{{- if include "sandlot.nats.url" . }}
{{- include "sandlot.nats.volumes" (dict "root" . "user" "api") }}
{{- end }}
{{- if and (include "sandlot.redis.url" .) (include "sandlot.redis.caSecret" .) }}
- name: redis-ca
  secret: { secretName: {{ include "sandlot.redis.caSecret" . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- end -}}

{{/*
The right to read logs of containers, by namespace and never in the cluster, where it would be one to what every Pod prints. A release that serves single namespaces has a Role in each; another one has a ClusterRole, which is no right by itself, and
bindings in the namespaces that the values name. Call with the scope of the API.
*/}}
{{- define "sandlot.api.logRoles" -}}
{{- $name := printf "%s-api-logs" (include "sandlot.fullname" .root) }}
{{- $labels := include "sandlot.labels" . }}
{{- $served := splitList "," (include "sandlot.namespaces" .root) | compact }}
{{- $named := .root.Values.api.logs.namespaces }}
{{- if and $served $named }}
{{- fail "api.logs.namespaces: the release serves single namespaces, and the API may read the logs in all of them; leave it out" }}
{{- end }}
{{- $kind := ternary "ClusterRole" "Role" (empty $served) }}
{{- range $namespace := $served | default (list "") }}
---
# What the containers of sandboxes print.
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- $labels | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [pods/log]
    verbs: [get]
{{- end }}
{{- range $namespace := $served | default $named }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "sandlot.fullname" $.root }}-api
    namespace: {{ $.root.Release.Namespace }}
{{- end }}
{{- end -}}

{{/* Secret with the key by which daemons recognise the gateway. */}}
{{- define "sandlot.gateway.secretName" -}}
{{- default (printf "%s-gateway-key" (include "sandlot.fullname" .)) .Values.gateway.existingSecret -}}
{{- end -}}

{{/* Files of the gateway: its certificate, and those of a client of NATS. */}}
{{- define "sandlot.gateway.mounts" -}}
{{- if include "sandlot.nats.url" . }}
{{- include "sandlot.nats.mounts" (dict "root" . "user" "gateway") }}
{{- end }}
{{- if .Values.gateway.tls.secret }}
- { name: tls, mountPath: /etc/sandlot/tls, readOnly: true }
{{- end }}
{{- end -}}

{{- define "sandlot.gateway.volumes" -}}
{{- if include "sandlot.nats.url" . }}
{{- include "sandlot.nats.volumes" (dict "root" . "user" "gateway") }}
{{- end }}
{{- with .Values.gateway.tls.secret }}
- name: tls
  secret: { secretName: {{ . }} }
{{- end }}
{{- end -}}

{{/* Environment of the gateway; call with its scope. */}}
{{- define "sandlot.gateway.env" -}}
{{- $scope := . -}}
{{- with .root -}}
{{- $values := .Values -}}
{{- $gateway := $values.gateway -}}
{{- $needed := add (include "sandlot.seconds" $gateway.drainDelay) (include "sandlot.seconds" $gateway.drainTimeout) 10 -}}
{{- if lt (int $gateway.terminationGracePeriodSeconds) (int $needed) -}}
{{- fail (printf "gateway.terminationGracePeriodSeconds: drainDelay and drainTimeout need %d s with 10 s to spare" $needed) -}}
{{- end -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- { name: BUILD_VERSION, value: {{ $gateway.image.tag | default $values.image.tag | default .Chart.AppVersion | quote }} }
- { name: LOG_LEVEL, value: {{ $values.log.level | quote }} }
- { name: MALLOC_ARENA_MAX, value: "1" }
- { name: PROBE_PORT, value: {{ $values.controller.probePort | quote }} }
- { name: METRICS_PORT, value: {{ $values.controller.metricsPort | quote }} }
{{- include "sandlot.namespaces.env" . }}
- { name: PORT, value: "8080" }
{{- if $gateway.tls.secret }}
- { name: TLS_PORT, value: "8443" }
- { name: TLS_CERT_FILE, value: /etc/sandlot/tls/tls.crt }
- { name: TLS_KEY_FILE, value: /etc/sandlot/tls/tls.key }
{{- end }}
{{- if $gateway.agentSandbox.router.enabled }}
- { name: ROUTER_PORT, value: "8082" }
{{- end }}
{{- with $gateway.domains }}
- { name: DOMAINS, value: {{ join "," . | quote }} }
{{- end }}
{{- with include "sandlot.gateway.apiUrl" . }}
- { name: API_URL, value: {{ . | quote }} }
{{- end }}
- { name: AGENT_SANDBOX_AUTH, value: {{ $gateway.agentSandbox.auth | quote }} }
- { name: EXEC_PORT, value: {{ $gateway.agentSandbox.port | quote }} }
{{- if $gateway.agentSandbox.metrics }}
- { name: AGENT_SANDBOX_METRICS, value: "true" }
{{- end }}
- name: GATEWAY_SIGNING_KEY
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.gateway.secretName" . }}, key: signing.key } }
{{- with $gateway.trustedProxies }}
- { name: TRUSTED_PROXIES, value: {{ join "," . | quote }} }
{{- end }}
- { name: HOLD_TIMEOUT, value: {{ $gateway.hold.timeout | quote }} }
- { name: HOLD_MAX, value: {{ $gateway.hold.requests | int64 | quote }} }
- { name: HOLD_MAX_BYTES, value: {{ $gateway.hold.bytes | int64 | quote }} }
- { name: HOLD_MAX_PER_SANDBOX, value: {{ $gateway.hold.perSandbox | int64 | quote }} }
- { name: HOLD_MAX_PER_NAMESPACE, value: {{ $gateway.hold.perNamespace | int64 | quote }} }
- { name: HOLD_MAX_PER_SOURCE, value: {{ $gateway.hold.perSource | int64 | quote }} }
- { name: MAX_CONNECTIONS, value: {{ $gateway.limits.connections | int64 | quote }} }
- { name: MAX_CONNECTIONS_PER_SOURCE, value: {{ $gateway.limits.perSource | int64 | quote }} }
- { name: MAX_UNFINISHED_HEADS, value: {{ $gateway.limits.unfinishedHeads | int64 | quote }} }
- { name: MAX_UNFINISHED_HEADS_PER_SOURCE, value: {{ $gateway.limits.unfinishedHeadsPerSource | int64 | quote }} }
- { name: HEAD_TIMEOUT, value: {{ $gateway.limits.headTimeout | quote }} }
- { name: MAX_CONNECTIONS_PER_SANDBOX, value: {{ $gateway.limits.perSandbox | int64 | quote }} }
- { name: MAX_CONNECTIONS_PER_KEY, value: {{ $gateway.limits.perKey | int64 | quote }} }
- { name: MAX_CONNECTIONS_PER_NAMESPACE, value: {{ $gateway.limits.perNamespace | int64 | quote }} }
- { name: ACTIVITY_INTERVAL, value: {{ $gateway.activityInterval | quote }} }
- { name: DRAIN_DELAY, value: {{ $gateway.drainDelay | quote }} }
- { name: DRAIN_TIMEOUT, value: {{ $gateway.drainTimeout | quote }} }
{{- with $values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
- { name: TRACE_SAMPLE_RATIO, value: {{ $values.tracing.sampleRatio | quote }} }
- { name: TRACE_SLOW_COLD, value: {{ $values.tracing.slow.cold | quote }} }
- { name: CLIENT_TRACES, value: {{ $gateway.clientTraces | quote }} }
{{- with $values.tracing.clusterUid }}
- { name: K8S_CLUSTER_UID, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- with include "sandlot.nats.url" . }}
- { name: NATS_URL, value: {{ . | quote }} }
- { name: NATS_USER, value: gateway }
- { name: NATS_PASSWORD_FILE, value: {{ include "sandlot.nats.passwordFile" (dict "root" $scope.root "user" "gateway") }} }
{{- end }}
{{- if include "sandlot.nats.caSecret" . }}
- { name: NATS_CA_FILE, value: /etc/sandlot/nats/ca.crt }
{{- end }}
{{- with include "sandlot.pod.extra" (dict "scope" $scope "field" "extraEnv") }}
{{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Where control-plane requests go; empty when there is no API. */}}
{{- define "sandlot.gateway.apiUrl" -}}
{{- $api := .Values.api | default dict -}}
{{- if .Values.gateway.apiUrl }}{{ .Values.gateway.apiUrl }}
{{- else if $api.enabled }}http://{{ include "sandlot.fullname" . }}-api.{{ .Release.Namespace }}.svc:8080{{ end -}}
{{- end -}}

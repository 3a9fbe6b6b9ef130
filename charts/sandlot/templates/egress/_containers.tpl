{{/* The two containers of egress. They share a socket; the token of the account is in the one, the key of the authority in the other. */}}

{{/* Seconds that the proxy goes on after its end was asked for: until no Service leads to it, and then its connections. */}}
{{- define "sandlot.egress.drainSeconds" -}}
{{- add 5 (include "sandlot.seconds" .Values.egress.drainTimeout) 1 -}}
{{- end -}}

{{- define "sandlot.egress.rules" -}}
{{- $name := include "sandlot.egress.fullname" .root -}}
name: rules
image: {{ include "sandlot.controller.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  - name: POD_NAME
    valueFrom: { fieldRef: { fieldPath: metadata.name } }
  - name: POD_UID
    valueFrom: { fieldRef: { fieldPath: metadata.uid } }
  - name: POD_NAMESPACE
    valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
  - { name: BUILD_VERSION, value: {{ .values.image.tag | default .root.Values.image.tag | default .root.Chart.AppVersion | quote }} }
  - { name: LOG_LEVEL, value: {{ .root.Values.log.level | quote }} }
  - { name: PROBE_PORT, value: {{ .root.Values.controller.probePort | quote }} }
  - { name: METRICS_PORT, value: {{ .root.Values.controller.metricsPort | quote }} }
  {{- with include "sandlot.namespaces.env" .root | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  - { name: PORT, value: {{ include "sandlot.egress.refusalsPort" .root | quote }} }
  - { name: EGRESS_SERVICE, value: {{ $name }} }
  - { name: EGRESS_INSPECT_SERVICE, value: {{ $name }}-inspect }
  {{- with include "sandlot.egress.credentialSettings" .root | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with include "sandlot.api.vaultNamespace" .root }}
  - { name: VAULT_NAMESPACE, value: {{ . }} }
  {{- end }}
  {{- with .root.Values.network.extraBlockedCIDRs }}
  - { name: EXTRA_BLOCKED_CIDRS, value: {{ join "," . | quote }} }
  {{- end }}
  {{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraEnv") }}
  {{- . | nindent 2 }}
  {{- end }}
{{- with include "sandlot.pod.envFrom" . }}
{{ . }}
{{- end }}
ports:
  - { name: probes, containerPort: {{ .root.Values.controller.probePort }} }
  - { name: metrics, containerPort: {{ .root.Values.controller.metricsPort }} }
  - { name: reports, containerPort: {{ include "sandlot.egress.refusalsPort" .root }} }
{{ include "sandlot.controller.probes" .root }}
  # A process that hangs does not wait as long as one whose Pod ends.
  terminationGracePeriodSeconds: 10
# A proxy that drains still hears of rules that change: without them revoked connections would stay open.
lifecycle: { preStop: { sleep: { seconds: {{ include "sandlot.egress.drainSeconds" .root }} } } }
resources: {{- toYaml .values.resources | nindent 2 }}
securityContext: {{- include "sandlot.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  - { name: socket, mountPath: /run/sandlot }
  - { name: kubernetes-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
  {{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraVolumeMounts") }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Settings of the proxy: egress/internal/serve/settings.go has their meaning. */}}
{{- define "sandlot.egress.proxyEnv" -}}
{{- $values := .root.Values.egress -}}
{{- $servers := list -}}
{{- range include "sandlot.egress.resolvers" .root | fromJsonArray -}}
{{- $servers = append $servers (printf (ternary "[%s]:%s" "%s:%s" (contains ":" .address)) .address .port) -}}
{{- end -}}
- { name: SANDLOT_EGRESS_SERVERS, value: {{ join "," $servers | quote }} }
- { name: SANDLOT_EGRESS_HTTP_PORTS, value: {{ join "," $values.ports.http | quote }} }
- { name: SANDLOT_EGRESS_TLS_PORTS, value: {{ join "," $values.ports.tls | quote }} }
- { name: SANDLOT_EGRESS_PROXY_PORT, value: {{ include "sandlot.egress.connectPort" .root | quote }} }
- { name: SANDLOT_EGRESS_ADMIN_PORT, value: {{ include "sandlot.egress.adminPort" .root | quote }} }
- { name: SANDLOT_EGRESS_INSPECT_ALL, value: {{ eq $values.inspect "All" | quote }} }
- { name: SANDLOT_EGRESS_PLAINTEXT_RULES, value: {{ $values.credentials.plaintext | quote }} }
- { name: SANDLOT_EGRESS_CONNECTIONS, value: {{ $values.limits.connections | int64 | quote }} }
- { name: SANDLOT_EGRESS_CONNECTIONS_PER_SECOND, value: {{ $values.limits.connectionsPerSecond | int64 | quote }} }
- { name: SANDLOT_EGRESS_DNS_PER_SECOND, value: {{ $values.limits.dnsPerSecond | int64 | quote }} }
- { name: SANDLOT_EGRESS_LOG_MODE, value: {{ $values.log }} }
{{- with .root.Values.metrics.templateLabels }}
- { name: SANDLOT_EGRESS_TEMPLATE_LABELS, value: {{ join "," . | quote }} }
{{- end }}
- { name: SANDLOT_EGRESS_DRAIN_AFTER, value: 5s }
- { name: SANDLOT_EGRESS_DRAIN, value: {{ $values.drainTimeout | quote }} }
{{- if $values.upstreamCA.secret }}
- { name: SANDLOT_EGRESS_UPSTREAM_CA, value: /etc/sandlot/upstream-ca/ca.crt }
{{- end }}
{{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraEnv") }}
{{ . }}
{{- end }}
{{- end -}}

{{- define "sandlot.egress.proxy" -}}
{{- $image := dict "root" .root "name" "egress-proxy" "values" (dict "image" .values.proxyImage) -}}
name: proxy
image: {{ include "sandlot.controller.image" $image }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env: {{- include "sandlot.egress.proxyEnv" . | nindent 2 }}
{{- with include "sandlot.pod.envFrom" . }}
{{ . }}
{{- end }}
ports:
  - { name: dns-udp, containerPort: 53, protocol: UDP }
  - { name: dns-tcp, containerPort: 53 }
  {{- range .values.ports.http }}
  - { name: http-{{ . }}, containerPort: {{ . }} }
  {{- end }}
  {{- range .values.ports.tls }}
  - { name: tls-{{ . }}, containerPort: {{ . }} }
  {{- end }}
  - { name: connect, containerPort: {{ include "sandlot.egress.connectPort" .root }} }
  - { name: proxy-metrics, containerPort: {{ include "sandlot.egress.adminPort" .root }} }
startupProbe:
  httpGet: { path: /healthz, port: proxy-metrics }
  periodSeconds: 1
  failureThreshold: 120
readinessProbe:
  httpGet: { path: /readyz, port: proxy-metrics }
  periodSeconds: 2
  failureThreshold: 3
livenessProbe:
  httpGet: { path: /healthz, port: proxy-metrics }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
resources: {{- toYaml .values.proxyResources | nindent 2 }}
securityContext: {{- include "sandlot.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  - { name: socket, mountPath: /run/sandlot }
  - { name: egress-ca, mountPath: /etc/sandlot/egress-ca, readOnly: true }
  {{- if .values.upstreamCA.secret }}
  - { name: upstream-ca, mountPath: /etc/sandlot/upstream-ca, readOnly: true }
  {{- end }}
  {{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraVolumeMounts") }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "sandlot.egress.volumes" -}}
- name: socket
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
# What the kubelet would mount into every container of the Pod: here it is for one of them.
- name: kubernetes-token
  projected:
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 3607 }
      - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
      - downwardAPI: { items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }] }
- name: egress-ca
  secret: { secretName: {{ include "sandlot.egress.caSecret" .root }}, items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }] }
{{- with .values.upstreamCA.secret }}
- name: upstream-ca
  secret: { secretName: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraVolumes") }}
{{ . }}
{{- end }}
{{- end -}}

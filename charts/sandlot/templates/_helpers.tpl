{{/* Prefix of every name of the release. */}}
{{- define "sandlot.fullname" -}}
{{- default (ternary .Release.Name (printf "%s-%s" .Release.Name (include "sandlot.name" .)) (contains (include "sandlot.name" .) .Release.Name)) .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "sandlot.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels of the release; call with (dict "root" $ "component" "nats"). */}}
{{- define "sandlot.labels" -}}
{{ include "sandlot.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: sandlot
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels that never change, for selectors. */}}
{{- define "sandlot.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sandlot.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* An image reference from registry, repository, and a digest or else a tag. Call with these, and root. */}}
{{- define "sandlot.image" -}}
{{- $registry := .root.Values.global.imageRegistry | default .registry -}}
{{- $path := printf "%s/%s" .repository .name | trimSuffix "/" | trimPrefix "/" -}}
{{- $name := ternary $path (printf "%s/%s" $registry $path) (empty $registry) -}}
{{- if .digest }}{{ $name }}@{{ .digest }}{{ else }}{{ $name }}:{{ .tag }}{{ end -}}
{{- end -}}

{{/* Whole seconds of a duration, such as 60 for 1m. */}}
{{- define "sandlot.seconds" -}}
{{- $start := toDate "2006-01-02" "2000-01-01" -}}
{{- sub (dateModify . $start | unixEpoch) (unixEpoch $start) -}}
{{- end -}}

{{/* Pod level of the restricted Pod Security Standard. */}}
{{- define "sandlot.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/* Container level of the restricted Pod Security Standard. */}}
{{- define "sandlot.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "sandlot.nats.fullname" -}}{{ include "sandlot.fullname" . }}-nats{{- end -}}
{{- define "sandlot.redis.fullname" -}}{{ include "sandlot.fullname" . }}-redis{{- end -}}

{{- define "sandlot.nats.secretName" -}}
{{- default (printf "%s-auth" (include "sandlot.nats.fullname" .)) .Values.nats.auth.existingSecret -}}
{{- end -}}
{{- define "sandlot.redis.secretName" -}}
{{- default (printf "%s-auth" (include "sandlot.redis.fullname" .)) .Values.redis.auth.existingSecret -}}
{{- end -}}

{{/* Where NATS is; empty when there is none. */}}
{{- define "sandlot.nats.url" -}}
{{- if .Values.nats.enabled }}{{ ternary "tls" "nats" (ne (include "sandlot.nats.caSecret" .) "") }}://{{ include "sandlot.nats.fullname" . }}.{{ .Release.Namespace }}.svc:4222{{ else }}{{ .Values.nats.external.url }}{{ end -}}
{{- end -}}

{{/* Secret with the authority of the server's certificate; empty when there is none. */}}
{{- define "sandlot.nats.caSecret" -}}
{{- if .Values.nats.enabled }}{{ include "sandlot.tls.secretName" (dict "root" . "server" "nats") }}{{ else }}{{ .Values.nats.external.caSecret }}{{ end -}}
{{- end -}}

{{/* Where Redis is; empty when there is none. */}}
{{- define "sandlot.redis.url" -}}
{{- if .Values.redis.enabled }}{{ ternary "rediss" "redis" (ne (include "sandlot.redis.caSecret" .) "") }}://{{ include "sandlot.redis.fullname" . }}.{{ .Release.Namespace }}.svc:6379{{ else }}{{ .Values.redis.external.url }}{{ end -}}
{{- end -}}

{{/* Name of a controller's Deployment; call with (dict "root" $ "name" NAME). */}}
{{- define "sandlot.controller.deployment" -}}
{{- if and .root.Values.controller.agentSandboxNames (eq .name "sandbox-controller") -}}
agent-sandbox-controller
{{- else -}}
{{ include "sandlot.fullname" .root }}-{{ .name }}
{{- end -}}
{{- end -}}

{{/* Name of the container in a controller's pod. */}}
{{- define "sandlot.controller.container" -}}
{{ ternary "agent-sandbox-controller" "controller" .Values.controller.agentSandboxNames }}
{{- end -}}

{{/* Where a controller keeps its lease: the last --leader-election-namespace, else the release's namespace. Call with its scope. */}}
{{- define "sandlot.leaseNamespace" -}}
{{- $namespace := .root.Release.Namespace -}}
{{- range concat .root.Values.controller.args .values.extraArgs -}}
{{- if regexMatch "^--?leader-election-namespace=." . -}}
{{- $namespace = regexReplaceAll "^[^=]*=" . "" -}}
{{- end -}}
{{- end -}}
{{ $namespace }}
{{- end -}}

{{/* The controllers: name -> values. */}}
{{- define "sandlot.controllers" -}}
sandbox-controller: sandboxController
warmpool-controller: warmpoolController
claim-controller: claimController
{{- if .Values.hibernation.enabled }}
snapshot-controller: snapshotController
{{- end }}
{{- if include "sandlot.volumes.namespace" . }}
volume-controller: volumeController
{{- end }}
{{- if .Values.builds.enabled }}
template-builder: builds
{{- end }}
{{- if .Values.webhooks.enabled }}
webhooks: webhooks
{{- end }}
{{- end -}}

{{/* Secret with the keys of the in-sandbox daemon. */}}
{{- define "sandlot.runtime.secretName" -}}
{{- default (printf "%s-runtime" (include "sandlot.fullname" .)) .Values.runtime.existingSecret -}}
{{- end -}}

{{/* Image of the in-sandbox daemon. */}}
{{- define "sandlot.runtime.image" -}}
{{- $image := .Values.image -}}
{{- include "sandlot.image" (dict "root" . "registry" $image.registry "repository" $image.repository "name" "runtime" "digest" .Values.runtime.image.digest "tag" (coalesce .Values.runtime.image.tag $image.tag .Chart.AppVersion)) -}}
{{- end -}}

{{/* Settings of the sandbox-controller alone: the daemon it puts into pods, and the keys that daemon trusts. */}}
{{- define "sandlot.env.runtime.sandbox-controller" -}}
- { name: RUNTIME_IMAGE, value: {{ include "sandlot.runtime.image" . | quote }} }
- name: RUNTIME_PUBLIC_KEY
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.runtime.secretName" . }}, key: signing.pub } }
{{- if eq .Values.runtime.delivery "ImageVolume" }}
{{- if semverCompare "<1.35-0" .Capabilities.KubeVersion.Version }}
{{- fail (printf "runtime.delivery: image volumes need Kubernetes 1.35, and the cluster has %s; leave it at InitContainer" .Capabilities.KubeVersion.Version) }}
{{- end }}
- { name: RUNTIME_DELIVERY, value: ImageVolume }
- name: RUNTIME_IDENTITY_SEED
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.runtime.secretName" . }}, key: identity.seed } }
{{- end }}
{{- if ne .Values.runtime.records "memory" }}
- { name: RUNTIME_RECORDS, value: {{ .Values.runtime.records }} }
{{- end }}
{{- if .Values.gateway.enabled }}
- name: GATEWAY_PUBLIC_KEYS
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.gateway.secretName" . }}, key: signing.pub } }
{{- end }}
{{- end -}}

{{- define "sandlot.env.runtime.warmpool-controller" -}}{{- end -}}
{{- define "sandlot.env.runtime.snapshot-controller" -}}{{- end -}}

{{/* Settings of the claim-controller alone: the keys with which it signs calls to daemons and makes their tokens. */}}
{{- define "sandlot.env.runtime.claim-controller" -}}
- name: RUNTIME_SIGNING_KEY
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.runtime.secretName" . }}, key: signing.key } }
{{ include "sandlot.env.tokenKeys" . }}
{{- end -}}

{{/* The keys by which tokens of sandboxes are made: the number is there once the key was rotated, the other one while it is. */}}
{{- define "sandlot.env.tokenKeys" -}}
{{- $secret := include "sandlot.runtime.secretName" . -}}
- name: ENVD_TOKEN_KEY
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: envd.key } }
- name: ENVD_TOKEN_KEY_NUMBER
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: envd.key.number, optional: true } }
- name: ENVD_TOKEN_KEY_OTHER
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: envd.key.other, optional: true } }
{{- end -}}

{{/* Secret with the keys of the in-sandbox daemon. */}}
{{- define "sandlot.runtime.secretName" -}}
{{- default (printf "%s-runtime" (include "sandlot.fullname" .)) .Values.runtime.existingSecret -}}
{{- end -}}

{{/* Image of the in-sandbox daemon. */}}
{{- define "sandlot.runtime.image" -}}
{{- $image := .Values.image -}}
{{- include "sandlot.image" (dict "root" . "registry" $image.registry "repository" $image.repository "name" "runtime" "digest" .Values.runtime.image.digest "tag" (coalesce .Values.runtime.image.tag $image.tag .Chart.AppVersion)) -}}
{{- end -}}

{{/*
The keys as the Secret holds them, in base64: those that are in the cluster, else new ones, kept for the rest of this
rendering. Templates cannot print the public half of a key alone, so that it is in a certificate.
*/}}
{{- define "sandlot.runtime.keys" -}}
{{- if not .Values._runtimeKeys -}}
{{- $found := (lookup "v1" "Secret" .Release.Namespace (include "sandlot.runtime.secretName" .) | default dict).data | default dict -}}
{{- $keys := pick $found "signing.key" "signing.pub" "envd.key" -}}
{{- if lt (len $keys) 3 -}}
{{- $key := genPrivateKey "ed25519" -}}
{{- $certificate := genSelfSignedCertWithKey "sandlot-runtime" list list 36500 $key -}}
{{- $keys = dict "signing.key" (b64enc $key) "signing.pub" (b64enc $certificate.Cert) "envd.key" (randBytes 32 | b64enc) -}}
{{- end -}}
{{- /* A Secret of an earlier release has none, and keeps its other keys. */ -}}
{{- $_ := set $keys "identity.seed" (get $found "identity.seed" | default (randBytes 32 | b64enc)) -}}
{{- $_ := set .Values "_runtimeKeys" $keys -}}
{{- end -}}
{{- toYaml .Values._runtimeKeys -}}
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
- name: ENVD_TOKEN_KEY
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.runtime.secretName" . }}, key: envd.key } }
{{- end -}}

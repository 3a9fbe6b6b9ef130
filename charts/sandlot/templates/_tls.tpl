{{/* Secret with ca.crt, tls.crt and tls.key of a server of the release; empty without TLS. Call with (dict "root" $ "server" "nats"). */}}
{{- define "sandlot.tls.secretName" -}}
{{- $values := index .root.Values .server -}}
{{- if and $values.enabled $values.tls.enabled -}}
{{- default (printf "%s-%s-tls" (include "sandlot.fullname" .root) .server) (coalesce $values.tls.secret $values.tls.existingSecret) -}}
{{- end -}}
{{- end -}}

{{/* Whether the chart makes the server's certificate; empty when it does not. */}}
{{- define "sandlot.tls.isIssued" -}}
{{- $values := index .root.Values .server -}}
{{- if and (include "sandlot.tls.secretName" .) (not (coalesce $values.tls.secret $values.tls.existingSecret)) }}true{{ end -}}
{{- end -}}

{{/*
The certificate as the Secret holds it, in base64, and its last day: the one in the cluster while it is good for another
year, else a new one for ten years, kept for the rest of this rendering. The key of the authority is thrown away, so that
nothing else can be signed with it.
*/}}
{{- define "sandlot.tls.certificate" -}}
{{- $made := .root.Values._certificates | default dict -}}
{{- if not (hasKey $made .server) -}}
{{- $found := lookup "v1" "Secret" .root.Release.Namespace (include "sandlot.tls.secretName" .) | default dict -}}
{{- $files := pick ($found.data | default dict) "ca.crt" "tls.crt" "tls.key" -}}
{{- $expires := get (($found.metadata | default dict).annotations | default dict) "sandlot.dev/expires-at" -}}
{{- $inAYear := dateModify "8760h" now | unixEpoch | int64 -}}
{{- if or (lt (len $files) 3) (lt (toDate "2006-01-02" ($expires | default "1970-01-02") | unixEpoch | int64) $inAYear) -}}
{{- $name := printf "%s-%s" (include "sandlot.fullname" .root) .server -}}
{{- $service := printf "%s.%s.svc" $name .root.Release.Namespace -}}
{{- $names := list $service $name (printf "%s.%s" $service .root.Values.clusterDomain) "localhost" -}}
{{- $authority := genCAWithKey (printf "%s authority" $name) 3650 (genPrivateKey "ecdsa") -}}
{{- $certificate := genSignedCertWithKey $name (list "127.0.0.1") $names 3650 $authority (genPrivateKey "ecdsa") -}}
{{- $files = dict "ca.crt" (b64enc $authority.Cert) "tls.crt" (b64enc $certificate.Cert) "tls.key" (b64enc $certificate.Key) -}}
{{- $expires = dateModify "87600h" now | date "2006-01-02" -}}
{{- end -}}
{{- $_ := set $made .server (dict "files" $files "expires" $expires) -}}
{{- $_ := set .root.Values "_certificates" $made -}}
{{- end -}}
{{- toYaml (get $made .server) -}}
{{- end -}}

{{/* The Secret of the certificate that the chart makes; nothing if it makes none. */}}
{{- define "sandlot.tls.secret" -}}
{{- if include "sandlot.tls.isIssued" . }}
{{- $certificate := include "sandlot.tls.certificate" . | fromYaml }}
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "sandlot.tls.secretName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "sandlot.labels" (dict "root" .root "component" .server) | nindent 4 }}
  annotations:
    sandlot.dev/expires-at: {{ $certificate.expires | quote }}
type: kubernetes.io/tls
data: {{- toYaml $certificate.files | nindent 2 }}
---
{{- end }}
{{- end -}}

{{/* Annotation of pods that restarts them with a new certificate; call with "server" or, for its clients, "client" as "side". */}}
{{- define "sandlot.tls.checksum" -}}
{{- if include "sandlot.tls.isIssued" . -}}
{{- $file := ternary "tls.crt" "ca.crt" (eq .side "server") -}}
checksum/{{ .server }}-{{ ternary "certificate" "authority" (eq .side "server") }}: {{ get (include "sandlot.tls.certificate" . | fromYaml).files $file | sha256sum | trunc 16 | quote }}
{{- end -}}
{{- end -}}

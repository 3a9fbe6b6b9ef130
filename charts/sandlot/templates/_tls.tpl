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

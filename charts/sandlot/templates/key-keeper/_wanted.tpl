{{/*
The credentials of the release, as services/key-keeper/src/plan/wanted.ts reads them: nothing is made while the chart is
rendered, so that each rendering is the same. `given` ones are the operator's, and are only looked at.
*/}}
{{- define "sandlot.keys.wanted" -}}
{{- $secrets := list -}}
{{- $runtime := dict "signing" "signing" "envd.key" "tokens" -}}
{{- if or (not .Values.runtime.existingSecret) (eq .Values.runtime.delivery "ImageVolume") -}}
{{- $_ := set $runtime "identity.seed" "bytes" -}}
{{- end -}}
{{- $secrets = append $secrets (dict "name" (include "sandlot.runtime.secretName" .) "component" "runtime" "given" (ne .Values.runtime.existingSecret "") "entries" $runtime) -}}
{{- if .Values.gateway.enabled -}}
{{- $secrets = append $secrets (dict "name" (include "sandlot.gateway.secretName" .) "component" "gateway" "given" (ne .Values.gateway.existingSecret "") "entries" (dict "signing" "signing")) -}}
{{- end -}}
{{- if include "sandlot.nats.url" . -}}
{{- $given := or (not .Values.nats.enabled) (ne .Values.nats.auth.existingSecret "") -}}
{{- $users := include "sandlot.nats.users" . | fromJsonArray -}}
{{- if $given -}}
{{- /* A Secret of the operator's may lack streams. People's users are those of the release's own server. */ -}}
{{- $users = without $users "streams" -}}
{{- if not .Values.nats.enabled }}{{ $users = without $users "events-reader" "events-replayer" "admin" }}{{ end -}}
{{- end -}}
{{- $secrets = append $secrets (dict "name" (include "sandlot.nats.secretName" .) "component" "nats" "given" $given "entries" (include "sandlot.keys.passwords" $users | fromYaml)) -}}
{{- end -}}
{{- if include "sandlot.redis.url" . -}}
{{- $given := or (not .Values.redis.enabled) (ne .Values.redis.auth.existingSecret "") -}}
{{- $users := include "sandlot.redis.users" . | fromJsonArray -}}
{{- /* A Secret of the operator's may be older than the history of metrics. */ -}}
{{- if $given }}{{ $users = without $users "api" }}{{ end -}}
{{- if not .Values.redis.enabled -}}
{{- $users = ternary (list "password") (without $users "admin") (ne .Values.redis.external.user "") -}}
{{- end -}}
{{- $secrets = append $secrets (dict "name" (include "sandlot.redis.secretName" .) "component" "redis" "given" $given "entries" (include "sandlot.keys.passwords" $users | fromYaml)) -}}
{{- end -}}
{{- if and .Values.hibernation.enabled .Values.hibernation.bucket.endpoint -}}
{{- $secrets = append $secrets (dict "name" (include "sandlot.hibernation.keysSecret" .) "component" "node" "given" (ne .Values.hibernation.bucket.keysSecret "") "entries" (dict "keys" "sealing")) -}}
{{- end -}}
{{- if .Values.egress.enabled -}}
{{- $secrets = append $secrets (dict "name" (include "sandlot.egress.caSecret" .) "component" "egress" "given" (ne .Values.egress.ca.existingSecret "") "entries" (dict "tls" "authority")) -}}
{{- if .Values.egress.credentials.enabled -}}
{{- $secrets = append $secrets (dict "name" (include "sandlot.egress.proofSecret" .) "component" "egress" "given" (ne .Values.egress.credentials.existingSecret "") "entries" (dict "proof" "tokens")) -}}
{{- end -}}
{{- end -}}
{{- $authorities := list -}}
{{- range $server := list "nats" "redis" -}}
{{- with include "sandlot.tls.secretName" (dict "root" $ "server" $server) -}}
{{- $subject := printf "%s-%s" (include "sandlot.fullname" $) $server -}}
{{- $service := printf "%s.%s.svc" $subject $.Release.Namespace -}}
{{- $hosts := list $service $subject (printf "%s.%s" $service $.Values.clusterDomain) "localhost" "127.0.0.1" -}}
{{- $given := not (include "sandlot.tls.isIssued" (dict "root" $ "server" $server)) -}}
{{- $certificate := dict "name" . "component" $server "given" $given "subject" $subject "hosts" $hosts -}}
{{- $authorities = append $authorities (dict "name" (printf "%s authority" $subject) "certificates" (list $certificate)) -}}
{{- end -}}
{{- end -}}
{{- if include "sandlot.nats.isCluster" . -}}
{{- $subject := printf "%s-routes" (include "sandlot.nats.fullname" .) -}}
{{- $certificate := dict "name" (include "sandlot.nats.routesSecret" .) "component" "nats" "given" (ne .Values.nats.tls.routesSecret "") "subject" $subject "hosts" (include "sandlot.nats.routeHosts" . | fromJsonArray) -}}
{{- $authorities = append $authorities (dict "name" (printf "%s authority" $subject) "certificates" (list $certificate)) -}}
{{- end -}}
{{- if .Values.hibernation.enabled -}}
{{- $certificates := list -}}
{{- range $side, $name := include "sandlot.hibernation.sides" . | fromYaml -}}
{{- $secret := include "sandlot.hibernation.tlsSecret" (dict "root" $ "side" $side) -}}
{{- $certificates = append $certificates (dict "name" $secret "component" $side "given" (ne $.Values.hibernation.tls.nodeSecret "") "subject" $name "hosts" (list $name)) -}}
{{- end -}}
{{- $authorities = append $authorities (dict "name" (printf "%s-node authority" (include "sandlot.fullname" .)) "certificates" $certificates) -}}
{{- end -}}
{{- toJson (dict "secrets" $secrets "authorities" $authorities) -}}
{{- end -}}

{{- define "sandlot.keys.passwords" -}}
{{- range . }}
{{ . }}: password
{{- end }}
{{- end -}}

{{/* The Secrets of all credentials: name, component, and whether the operator brings it. */}}
{{- define "sandlot.keys.secrets" -}}
{{- $wanted := include "sandlot.keys.wanted" . | fromJson -}}
{{- $all := $wanted.secrets -}}
{{- range $wanted.authorities }}{{ $all = concat $all .certificates }}{{ end -}}
{{- $found := list -}}
{{- range $all }}{{ $found = append $found (pick . "name" "component" "given") }}{{ end -}}
{{- toJson $found -}}
{{- end -}}

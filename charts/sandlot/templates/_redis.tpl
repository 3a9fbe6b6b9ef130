{{/* Users of Redis that have keys: the controllers, and the API for the history of metrics. */}}
{{- define "sandlot.redis.clients" -}}
{{- $clients := keys (include "sandlot.controllers" . | fromYaml) -}}
{{- if .Values.api.enabled }}{{ $clients = append $clients "api" }}{{ end -}}
{{- $clients | sortAlpha | toJson -}}
{{- end -}}

{{/* Users of Redis that have a password. */}}
{{- define "sandlot.redis.users" -}}
{{- append (include "sandlot.redis.clients" . | fromJsonArray) "admin" | toJson -}}
{{- end -}}

{{/* "true" for a user that a Secret of the operator's may lack, because it is older: the API does without a history then. Call with root and user. */}}
{{- define "sandlot.redis.mayLack" -}}
{{- if and (eq .user "api") (or (not .root.Values.redis.enabled) .root.Values.redis.auth.existingSecret) }}true{{ end -}}
{{- end -}}

{{/* CLAIM_CONTROLLER_PASSWORD for claim-controller. */}}
{{- define "sandlot.redis.passwordVariable" -}}
{{ . | upper | replace "-" "_" }}_PASSWORD
{{- end -}}

{{/* Prefix of this release's keys: installations may share a Redis. */}}
{{- define "sandlot.redis.prefix" -}}
{{ .Release.Namespace }}.{{ include "sandlot.fullname" . }}
{{- end -}}

{{/* User of a controller on Redis, and the key of its password; call with (dict "root" $ "name" NAME). */}}
{{- define "sandlot.redis.user" -}}
{{- if .root.Values.redis.enabled }}{{ .name }}{{ else }}{{ default .name .root.Values.redis.external.user }}{{ end -}}
{{- end -}}
{{- define "sandlot.redis.passwordKey" -}}
{{- if and (not .root.Values.redis.enabled) .root.Values.redis.external.user }}password{{ else }}{{ .name }}{{ end -}}
{{- end -}}

{{/* Secret with the authority of the server's certificate; empty when there is none. */}}
{{- define "sandlot.redis.caSecret" -}}
{{- if .Values.redis.enabled }}{{ include "sandlot.tls.secretName" (dict "root" . "server" "redis") }}{{ else }}{{ .Values.redis.external.caSecret }}{{ end -}}
{{- end -}}

{{/* Asks the server of this pod. */}}
{{- define "sandlot.redis.ping" -}}
REDISCLI_AUTH="$ADMIN_PASSWORD" redis-cli --user admin {{ if include "sandlot.redis.caSecret" . }}--tls --cacert /etc/redis-tls/ca.crt {{ end }}ping | grep -q PONG
{{- end -}}

{{- define "sandlot.redis.config" -}}
bind * -::*
{{- if include "sandlot.redis.caSecret" . }}
port 0
tls-port 6379
tls-cert-file /etc/redis-tls/tls.crt
tls-key-file /etc/redis-tls/tls.key
tls-ca-cert-file /etc/redis-tls/ca.crt
tls-auth-clients no
{{- else }}
port 6379
{{- end }}
dir /data
appendonly yes
appendfsync everysec
save ""
maxmemory {{ .Values.redis.maxMemory }}
# A queue that loses keys loses deadlines: refuse writes instead.
maxmemory-policy noeviction
{{- end -}}

{{/*
Users, each with the keys that are its own and without the commands of an administrator. The shell fills in passwords: in a
rotation also the one before, so that controllers that have not restarted yet stay connected.
*/}}
{{- define "sandlot.redis.acl" -}}
user default off
user admin on >$ADMIN_PASSWORD ${ADMIN_PASSWORD_PREVIOUS:+>$ADMIN_PASSWORD_PREVIOUS} ~* &* +@all
{{- range include "sandlot.redis.clients" . | fromJsonArray }}
{{- $variable := include "sandlot.redis.passwordVariable" . }}
{{- $on := printf "on >$%s" $variable }}
{{- if include "sandlot.redis.mayLack" (dict "root" $ "user" .) }}{{ $on = printf "${%s:+%s}" $variable $on }}{{ end }}
user {{ . }} {{ $on }} ${{ "{" }}{{ $variable }}_PREVIOUS:+>${{ $variable }}_PREVIOUS} ~{{ include "sandlot.redis.prefix" $ }}:{{ . }}:* resetchannels +@all -@admin -@dangerous +info
{{- end }}
{{- end -}}

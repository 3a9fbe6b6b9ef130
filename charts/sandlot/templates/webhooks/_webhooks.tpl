{{/* Webhooks: services/webhooks, whose Deployment is among those of the controllers. */}}

{{/* Port on which the process serves the API. */}}
{{- define "sandlot.webhooks.port" -}}8080{{- end -}}

{{/* Where the Secrets of webhooks are; nothing without webhooks, or without the API. */}}
{{- define "sandlot.webhooks.namespace" -}}
{{- if and .Values.api.enabled .Values.webhooks.enabled -}}
{{- .Values.webhooks.namespace | default (printf "%s-webhooks" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{/* Stops a rendering that could deliver nothing. */}}
{{- define "sandlot.webhooks.check" -}}
{{- if not .Values.api.enabled -}}
{{- fail "webhooks.enabled: clients register webhooks with the API; leave api.enabled on" -}}
{{- end -}}
{{- if not (include "sandlot.nats.url" .) -}}
{{- fail "webhooks.enabled: events come from NATS; leave nats.enabled on, or name nats.external.url" -}}
{{- end -}}
{{- if not (include "sandlot.redis.url" .) -}}
{{- fail "webhooks.enabled: deliveries wait in Redis; leave redis.enabled on, or name redis.external.url" -}}
{{- end -}}
{{- end -}}

{{/* Where webhooks may go: the API refuses others at once, and the process at every connection. */}}
{{- define "sandlot.webhooks.targets" -}}
- { name: HOOKS_NAMESPACE, value: {{ include "sandlot.webhooks.namespace" . }} }
- { name: WEBHOOK_PORTS, value: {{ join "," .Values.webhooks.ports | quote }} }
{{- with .Values.webhooks.privateAddresses }}
- { name: WEBHOOK_PRIVATE_ADDRESSES, value: {{ join "," . | quote }} }
{{- end }}
{{- with .Values.network.extraBlockedCIDRs }}
- { name: WEBHOOK_BLOCKED_ADDRESSES, value: {{ join "," . | quote }} }
{{- end }}
{{- end -}}

{{/* Settings of the API that concern webhooks; none without them. */}}
{{- define "sandlot.webhooks.apiSettings" -}}
{{- if .Values.webhooks.enabled }}
{{ include "sandlot.webhooks.targets" . }}
- { name: WEBHOOKS_URL, value: "http://{{ include "sandlot.fullname" . }}-webhooks.{{ .Release.Namespace }}.svc:{{ include "sandlot.webhooks.port" . }}" }
- { name: WEBHOOKS_LIMIT, value: {{ .Values.webhooks.perTeam | quote }} }
{{- end }}
{{- end -}}

{{/* Settings of the process alone: services/webhooks/src/wiring/config.ts has their meaning. */}}
{{- define "sandlot.env.webhooks" }}{{- end -}}
{{- define "sandlot.env.runtime.webhooks" -}}
{{- $webhooks := .Values.webhooks -}}
{{ include "sandlot.webhooks.targets" . }}
- { name: PORT, value: {{ include "sandlot.webhooks.port" . | quote }} }
- { name: WEBHOOK_TEAM_CONCURRENCY, value: {{ $webhooks.concurrentPerTeam | quote }} }
- { name: WEBHOOK_DELIVERIES, value: {{ $webhooks.keptDeliveries | quote }} }
{{- end -}}

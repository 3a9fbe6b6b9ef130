{{/* Name of the environment variable that holds a user's password. */}}
{{- define "sandlot.nats.passwordVariable" -}}
{{ . | upper | replace "-" "_" }}_PASSWORD
{{- end -}}

{{/* Events a service may publish: those about the objects it is the one writer of. */}}
{{- define "sandlot.nats.publishes" -}}
sandbox-controller: [sandbox]
warmpool-controller: [pool, template]
claim-controller: [claim]
{{- end -}}

{{/*
The server's configuration: one user per service that may publish its own events, declare the one stream, listen to
events, and ask after other replicas; `admin` may do everything. Passwords come from the environment, so that this text is no secret.
*/}}
{{- define "sandlot.nats.config" -}}
server_name: $POD_NAME
port: 4222
http_port: 8222
max_payload: 1MB
jetstream {
  store_dir: /data
  max_memory_store: 16MB
  max_file_store: {{ include "sandlot.nats.fileStore" . }}
  sync_interval: {{ .Values.nats.syncInterval }}
}
accounts {
  SANDLOT {
    jetstream: enabled
    users: [
      {{- range $user, $kinds := include "sandlot.nats.publishes" . | fromYaml }}
      {
        user: {{ $user }}
        password: ${{ include "sandlot.nats.passwordVariable" $user }}
        permissions {
          publish: [
            {{- range $kinds }}
            "sandlot.*.{{ . }}.>"
            {{- end }}
            "sandlot.presence.*"
            "$JS.API.INFO"
            "$JS.API.STREAM.INFO.SANDLOT_EVENTS"
            "$JS.API.STREAM.CREATE.SANDLOT_EVENTS"
            "$JS.API.STREAM.UPDATE.SANDLOT_EVENTS"
          ]
          subscribe: ["sandlot.>", "_INBOX.>"]
          allow_responses: true
        }
      }
      {{- end }}
      { user: admin, password: $ADMIN_PASSWORD }
    ]
  }
}
{{- end -}}

{{/* The volume less a fifth, because a full file system stops the server: 1638Mi of 2Gi, in NATS' spelling. */}}
{{- define "sandlot.nats.fileStore" -}}
{{- $size := .Values.nats.persistence.size -}}
{{- $unit := regexFind "[A-Za-z]+$" $size -}}
{{- $amount := regexFind "^[0-9]+" $size | int64 -}}
{{- if eq $unit "Gi" }}{{ div (mul $amount 1024 4) 5 }}MB{{ else }}{{ div (mul $amount 4) 5 }}MB{{ end -}}
{{- end -}}

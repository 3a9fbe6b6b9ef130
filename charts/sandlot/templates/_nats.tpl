{{/* "true" if the release's own NATS is a cluster. */}}
{{- define "sandlot.nats.isCluster" -}}
{{- with .Values.nats -}}
{{- if and .enabled (gt (int .replicas) 1) -}}
{{- if not .tls.enabled }}{{ fail "nats.replicas: servers of a cluster trust each other by certificates; leave nats.tls.enabled on, or run one server" }}{{ end -}}
true
{{- end -}}
{{- if and .enabled (gt (int .streamReplicas) (int .replicas)) }}{{ fail (printf "nats.streamReplicas: %d copies of a stream need as many servers; raise nats.replicas, which is %d" (int .streamReplicas) (int .replicas)) }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Name of one server of a cluster, which is that of its Pod and of its Service. */}}
{{- define "sandlot.nats.server" -}}
{{ include "sandlot.nats.fullname" .root }}-{{ .number }}
{{- end -}}

{{/* Secret with the certificate by which the servers of a cluster trust each other. */}}
{{- define "sandlot.nats.routesSecret" -}}
{{- default (printf "%s-routes-tls" (include "sandlot.nats.fullname" .)) .Values.nats.tls.routesSecret -}}
{{- end -}}

{{/* Names for which that certificate is good: those of five servers, so that a cluster can grow without another one. */}}
{{- define "sandlot.nats.routeHosts" -}}
{{- $hosts := list -}}
{{- range $number := until 5 -}}
{{- $server := include "sandlot.nats.server" (dict "root" $ "number" $number) -}}
{{- $hosts = concat $hosts (list $server (printf "%s.%s.svc" $server $.Release.Namespace)) -}}
{{- end -}}
{{- toJson $hosts -}}
{{- end -}}

{{/* Name of the environment variable that holds a user's password. */}}
{{- define "sandlot.nats.passwordVariable" -}}
{{ . | upper | replace "-" "_" }}_PASSWORD
{{- end -}}

{{/* Events a service may publish: those about objects that it alone writes. */}}
{{- define "sandlot.nats.publishes" -}}
sandbox-controller: [sandbox]
warmpool-controller: [pool, template]
claim-controller: [claim]
{{- if .Values.hibernation.enabled }}
snapshot-controller: [snapshot]
{{- end }}
{{- if .Values.builds.enabled }}
template-builder: [build]
{{- end }}
{{- if .Values.webhooks.enabled }}
webhooks: []
{{- end }}
{{- end -}}

{{/* Single events that it may publish about objects of another one. */}}
{{- define "sandlot.nats.publishesAlso" -}}
snapshot-controller: [sandbox.hibernated, sandbox.restored, sandbox.restore.failed]
{{- end -}}

{{/* Records of a service's outboxes: which events of its objects have been published. USAGE is the ledger of usage. */}}
{{- define "sandlot.nats.records" -}}
sandbox-controller: [SANDBOXES]
warmpool-controller: [POOLS, TEMPLATES]
claim-controller: [CLAIMS, USAGE]
snapshot-controller: [SNAPSHOTS]
template-builder: [BUILDS]
{{- end -}}

{{/* Streams of these records. */}}
{{- define "sandlot.nats.buckets" -}}
{{- $buckets := list -}}
{{- range $records := include "sandlot.nats.records" . | fromYaml -}}
{{- range $records }}{{ $buckets = append $buckets (printf "KV_SANDLOT_%s" .) }}{{ end -}}
{{- end -}}
{{- $buckets | toJson -}}
{{- end -}}

{{/* Users of the server: one per service and one that declares streams; for people a reader, a replayer and an administrator. */}}
{{- define "sandlot.nats.users" -}}
{{- concat (keys (include "sandlot.nats.publishes" . | fromYaml) | sortAlpha) (list "api" "gateway" "events-reader" "events-replayer" "streams" "admin") | toJson -}}
{{- end -}}

{{/* Key of a user's password. A Secret of the operator's may be older than `streams`, who may do no less than `admin` in the end. */}}
{{- define "sandlot.nats.passwordKey" -}}
{{- ternary "admin" .user (and (eq .user "streams") .root.Values.nats.enabled (ne .root.Values.nats.auth.existingSecret "")) -}}
{{- end -}}

{{/* Where a service reads its password whenever it connects, so that a rotation needs no restart; call with root and user. */}}
{{- define "sandlot.nats.passwordFile" -}}
/etc/sandlot/nats-password/{{ include "sandlot.nats.passwordKey" . }}
{{- end -}}

{{/* Its volume, in a rotation with the password of before as well; call with root and user. */}}
{{- define "sandlot.nats.passwordVolume" -}}
{{- $key := include "sandlot.nats.passwordKey" . -}}
{{- $secret := include "sandlot.nats.secretName" .root -}}
{{- /* Secrets for external servers of earlier releases lack the user streams; their streams stay as they are. */ -}}
{{- $mayLack := and (eq .user "streams") (not .root.Values.nats.enabled) -}}
- name: nats-password
  projected:
    sources:
      - secret: { name: {{ $secret }}, items: [{ key: {{ $key }}, path: {{ $key }} }]{{ if $mayLack }}, optional: true{{ end }} }
      - secret: { name: {{ $secret }}, items: [{ key: {{ $key }}.previous, path: {{ $key }}.previous }], optional: true }
{{- end -}}

{{/* Files of a client of NATS: the authority of the server, if it has one, and its own password; call with root and user. */}}
{{- define "sandlot.nats.volumes" -}}
{{- with include "sandlot.nats.caSecret" .root }}
- name: nats-ca
  secret: { secretName: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{ include "sandlot.nats.passwordVolume" . }}
{{- end -}}

{{- define "sandlot.nats.mounts" -}}
{{- if include "sandlot.nats.caSecret" .root }}
- { name: nats-ca, mountPath: /etc/sandlot/nats, readOnly: true }
{{- end }}
- { name: nats-password, mountPath: /etc/sandlot/nats-password, readOnly: true }
{{- end -}}

{{/* Where replies for a user arrive: no other user may subscribe there. libs/bus forms the same prefix. */}}
{{- define "sandlot.nats.inbox" -}}
"_INBOX_{{ . }}.>"
{{- end -}}

{{/*
What a reader of a stream may do on JetStream; call with its name. The answer has the message inside. No user but `admin`
has consumers, or direct answers: the server delivers those as stored, to any subject that the request names.
*/}}
{{- define "sandlot.nats.reads" -}}
            "$JS.API.STREAM.INFO.{{ . }}"
            "$JS.API.STREAM.MSG.GET.{{ . }}"
{{- end -}}

{{/*
The server's configuration. Each service has a user that may publish its own events, keep its own records, listen to events,
and answer its own replicas about its presence: it may publish into its own inbox and into no
other, or it could acknowledge events in the name of the stream. `api` may publish its audit log, and read events and the ledger of usage;
`webhooks` may read events. The claim-controller reads events to keep that ledger. `gateway` may ask
for Sandboxes to be woken and report activity. `events-reader` may read events and dead letters; `events-replayer` may also
publish dead letters again. `streams` may declare the streams, and no other: a stream republishes what it stores to any subject that its settings name.
`admin` may do everything. Passwords come from the environment, so this text is no secret.
*/}}
{{- define "sandlot.nats.config" -}}
server_name: $POD_NAME
port: 4222
http_port: 8222
max_payload: 1MB
{{- if include "sandlot.tls.secretName" (dict "root" . "server" "nats") }}
tls {
  cert_file: /etc/nats-tls/tls.crt
  key_file: /etc/nats-tls/tls.key
}
{{- end }}
{{- if include "sandlot.nats.isCluster" . }}
# A server that is not of this release has no certificate of its private authority.
cluster {
  name: {{ include "sandlot.nats.fullname" . }}
  port: 6222
  # Clients know the name of the Service alone, for which the certificate is good.
  no_advertise: true
  tls {
    cert_file: /etc/nats-routes-tls/tls.crt
    key_file: /etc/nats-routes-tls/tls.key
    ca_file: /etc/nats-routes-tls/ca.crt
  }
  routes: [
    {{- range $number := until (int .Values.nats.replicas) }}
    nats-route://{{ include "sandlot.nats.server" (dict "root" $ "number" $number) }}:6222
    {{- end }}
  ]
}
{{- end }}
jetstream {
  {{- /* A cluster deletes streams that it does not know, and one server refuses to start with those of a cluster. */}}
  store_dir: {{ ternary "/data/cluster" "/data" (eq (include "sandlot.nats.isCluster" .) "true") }}
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
            {{- range index (include "sandlot.nats.publishesAlso" $ | fromYaml) $user }}
            "sandlot.*.{{ . }}"
            {{- end }}
            "sandlot.presence.*"
            {{ include "sandlot.nats.inbox" $user }}
            "$JS.API.STREAM.INFO.SANDLOT_EVENTS"
            "$JS.API.STREAM.INFO.SANDLOT_DEAD_LETTERS"
            {{- if or (eq $user "webhooks") (and (eq $user "claim-controller") $.Values.usage.enabled) }}
            "$JS.API.STREAM.MSG.GET.SANDLOT_EVENTS"
            {{- end }}
            {{- range index (include "sandlot.nats.records" $ | fromYaml) $user }}
            "$KV.SANDLOT_{{ . }}.>"
            {{- $bucket := printf "KV_SANDLOT_%s" . }}
            {{ include "sandlot.nats.reads" $bucket | trim }}
            "$JS.API.STREAM.PURGE.{{ $bucket }}"
            {{- end }}
          ]
          subscribe: [{{ ternary "\"sandlot.*.claim.>\", \"sandlot.*.snapshot.ready\", \"sandlot.presence.*\"" "\"sandlot.>\"" (eq $user "webhooks") }}, {{ include "sandlot.nats.inbox" $user }}]
        }
      }
      {{- end }}
      {
        user: api
        password: $API_PASSWORD
        permissions {
          publish: [
            "sandlot.*.audit.>"
            "sandlot.spending"
            {{ include "sandlot.nats.reads" "SANDLOT_EVENTS" | trim }}
            {{- if .Values.usage.enabled }}
            "$JS.API.STREAM.MSG.GET.KV_SANDLOT_USAGE"
            {{- end }}
          ]
          subscribe: ["sandlot.*.*.>", "sandlot.spending", {{ include "sandlot.nats.inbox" "api" }}]
        }
      }
      {
        user: gateway
        password: $GATEWAY_PASSWORD
        permissions {
          publish: ["sandlot.*.sandbox.wake.requested", "sandlot.activity"]
          subscribe: [{{ include "sandlot.nats.inbox" "gateway" }}]
        }
      }
      {
        user: events-reader
        password: $EVENTS_READER_PASSWORD
        permissions {
          publish: [
            {{- range list "SANDLOT_EVENTS" "SANDLOT_DEAD_LETTERS" }}
            {{ include "sandlot.nats.reads" . | trim }}
            {{- end }}
          ]
          subscribe: ["sandlot.*.*.>", {{ include "sandlot.nats.inbox" "events-reader" }}]
        }
      }
      {
        user: events-replayer
        password: $EVENTS_REPLAYER_PASSWORD
        permissions {
          publish: [
            {{- range list "SANDLOT_EVENTS" "SANDLOT_DEAD_LETTERS" }}
            {{ include "sandlot.nats.reads" . | trim }}
            {{- end }}
            "$JS.API.STREAM.MSG.DELETE.SANDLOT_DEAD_LETTERS"
            {{- range concat (list "claim" "sandbox" "pool" "template") (ternary (list "snapshot") list .Values.hibernation.enabled) }}
            "sandlot.*.{{ . }}.>"
            {{- end }}
          ]
          subscribe: [{{ include "sandlot.nats.inbox" "events-replayer" }}]
        }
      }
      {
        user: streams
        password: $STREAMS_PASSWORD
        permissions {
          publish: [
            {{- range concat (list "SANDLOT_EVENTS" "SANDLOT_DEAD_LETTERS") (include "sandlot.nats.buckets" . | fromJsonArray) }}
            "$JS.API.STREAM.INFO.{{ . }}"
            "$JS.API.STREAM.CREATE.{{ . }}"
            "$JS.API.STREAM.UPDATE.{{ . }}"
            {{- end }}
          ]
          subscribe: [{{ include "sandlot.nats.inbox" "streams" }}]
        }
      }
      { user: admin, password: $ADMIN_PASSWORD }
    ]
  }
}
{{- end -}}

{{/* Mebibytes of JetStream: the volume less a fifth, because a full file system stops the server. */}}
{{- define "sandlot.nats.fileMebibytes" -}}
{{- $size := .Values.nats.persistence.size -}}
{{- $amount := regexFind "^[0-9]+" $size | int64 -}}
{{- div (mul $amount (ternary 1024 1 (hasSuffix "Gi" $size)) 4) 5 -}}
{{- end -}}

{{/* The same in NATS' spelling. NATS reserves the largest size of each stream, and refuses a stream that does not fit any more. */}}
{{- define "sandlot.nats.fileStore" -}}
{{- $mebibytes := include "sandlot.nats.fileMebibytes" . | int64 -}}
{{- $records := include "sandlot.nats.buckets" . | fromJsonArray | len -}}
{{- with .Values.nats.streams -}}
{{- /* 16 MiB are those of the dead letters, which libs/bus fixes. */ -}}
{{- $needed := add 16 (div (add (int64 .maxBytes) (mul $records (int64 .recordMaxBytes)) 1048575) 1048576) -}}
{{- /* With fewer copies than servers, a server has only some of the streams. */ -}}
{{- if and (gt $needed $mebibytes) (eq (int $.Values.nats.streamReplicas) (int $.Values.nats.replicas)) }}{{ fail (printf "nats.streams: maxBytes, %d records of recordMaxBytes and 16 MiB of dead letters are %d MiB, and a volume of nats.persistence.size %s has %d MiB for them; raise the size, or lower the others" $records $needed $.Values.nats.persistence.size $mebibytes) }}{{ end -}}
{{- end -}}
{{ $mebibytes }}MB
{{- end -}}

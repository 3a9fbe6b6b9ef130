{{/* Stops a rendering in which saved sandboxes could not be restored. */}}
{{- define "sandlot.hibernation.check" -}}
{{- if ne .Values.runtime.delivery "ImageVolume" -}}
{{- fail "hibernation.enabled: a Pod whose daemon an init container installs cannot be restored; set runtime.delivery=ImageVolume, which needs Kubernetes 1.35 and, on every node, containerd 2.1 or a CRI-O that mounts image volumes executable" -}}
{{- end -}}
{{- include "sandlot.namespaces.checkCluster" (dict "root" . "value" "hibernation.enabled" "why" "Nodes and SandboxSnapshotClasses") -}}
{{- if ne (empty .Values.hibernation.tls.nodeSecret) (empty .Values.hibernation.tls.controllerSecret) -}}
{{- fail "hibernation.tls: nodeSecret and controllerSecret have certificates of one authority; name both Secrets, or none" -}}
{{- end -}}
{{- $bucket := .Values.hibernation.bucket -}}
{{- if and $bucket.endpoint (or (not $bucket.name) (not $bucket.credentialsSecret)) -}}
{{- fail "hibernation.bucket.endpoint: name the bucket (hibernation.bucket.name) and the Secret with accessKey and secretKey (hibernation.bucket.credentialsSecret)" -}}
{{- end -}}
{{- if and (eq .Values.hibernation.store "Bucket") (not $bucket.endpoint) -}}
{{- fail "hibernation.store: Bucket needs hibernation.bucket.endpoint" -}}
{{- end -}}
{{- end -}}

{{/* Where the default class keeps snapshots. */}}
{{- define "sandlot.hibernation.store" -}}
{{- default (ternary "Bucket" "Node" (ne .Values.hibernation.bucket.endpoint "")) .Values.hibernation.store -}}
{{- end -}}

{{/* Secret with the keys that seal snapshots in the bucket. */}}
{{- define "sandlot.hibernation.keysSecret" -}}
{{- default (printf "%s-bucket-keys" (include "sandlot.fullname" .)) .Values.hibernation.bucket.keysSecret -}}
{{- end -}}

{{/* Flags of the node component for the bucket. */}}
{{- define "sandlot.hibernation.bucketArgs" }}
{{- with .Values.hibernation.bucket }}
- -s3-endpoint={{ .endpoint }}
- -s3-bucket={{ .name }}
- -s3-region={{ .region }}
{{- with .prefix }}
- -s3-prefix={{ . }}
{{- end }}
- -s3-path-style={{ .pathStyle }}
- -s3-credentials=/etc/sandlot/s3
- -s3-keys=/etc/sandlot/s3-keys/keys
- -most-transfers={{ .mostTransfers | int64 }}
{{- end }}
{{- end -}}

{{/* Files of the node component for the bucket. It reads them anew for each transfer. */}}
{{- define "sandlot.hibernation.bucketMounts" }}
- { name: s3, mountPath: /etc/sandlot/s3, readOnly: true }
- { name: s3-keys, mountPath: /etc/sandlot/s3-keys, readOnly: true }
{{- if .Values.hibernation.bucket.caSecret }}
- { name: s3-ca, mountPath: /etc/sandlot/s3-ca, readOnly: true }
{{- end }}
{{- end -}}

{{- define "sandlot.hibernation.bucketVolumes" }}
- name: s3
  projected:
    defaultMode: 0400
    sources:
      - secret:
          name: {{ .Values.hibernation.bucket.credentialsSecret }}
          items: [{ key: accessKey, path: access-key-id }, { key: secretKey, path: secret-access-key }]
      - secret:
          name: {{ .Values.hibernation.bucket.credentialsSecret }}
          items: [{ key: sessionToken, path: session-token }]
          optional: true
- name: s3-keys
  secret: { secretName: {{ include "sandlot.hibernation.keysSecret" . }}, items: [{ key: keys, path: keys }], defaultMode: 0400 }
{{- with .Values.hibernation.bucket.caSecret }}
- name: s3-ca
  secret: { secretName: {{ . }}, items: [{ key: ca.crt, path: ca.crt }], defaultMode: 0400 }
{{- end }}
{{- end -}}

{{/* The two sides of the connection: the component, and the DNS name in its certificate. */}}
{{- define "sandlot.hibernation.sides" -}}
node: sandlot-node
snapshot-controller: snapshot-controller
{{- end -}}

{{/* Secret with the certificate of one side; call with (dict "root" $ "side" COMPONENT). */}}
{{- define "sandlot.hibernation.tlsSecret" -}}
{{- $tls := .root.Values.hibernation.tls -}}
{{- $own := ternary $tls.nodeSecret $tls.controllerSecret (eq .side "node") -}}
{{- default (printf "%s-%s-tls" (include "sandlot.fullname" .root) .side) $own -}}
{{- end -}}

{{/* Where the snapshot-controller finds the node components, and who it is to them. */}}
{{- define "sandlot.hibernation.env" }}
- { name: SNAPSHOT_AGENT_NAMESPACE, value: {{ .Release.Namespace | quote }} }
{{- $labels := list }}
{{- range $key, $value := include "sandlot.selectorLabels" (dict "root" . "component" "node") | fromYaml }}
{{- $labels = append $labels (printf "%s=%s" $key $value) }}
{{- end }}
- { name: SNAPSHOT_AGENT_SELECTOR, value: {{ join "," $labels | quote }} }
- { name: SNAPSHOT_AGENT_PORT, value: "8443" }
- { name: SNAPSHOT_AGENT_TLS_DIR, value: /etc/sandlot/snapshot-agent }
{{- end -}}

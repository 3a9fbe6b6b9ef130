{{/* Volumes of the E2B API: services/volume-controller makes a disk and a file server (volumes/) in each namespace that has some. */}}

{{/* Where volumes are registered; empty without them. */}}
{{- define "sandlot.volumes.namespace" -}}
{{- if and .Values.api.enabled .Values.volumes.storageClass -}}
{{- .Values.volumes.namespace | default (printf "%s-volumes" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{/* Port of file servers, and the labels of their Pods. */}}
{{- define "sandlot.volumes.port" -}}8080{{- end -}}
{{- define "sandlot.volumes.serverLabels" -}}
app.kubernetes.io/name: sandlot-volumes
app.kubernetes.io/component: volume-server
{{- end -}}

{{- define "sandlot.volumes.image" -}}
{{- $image := .Values.image -}}
{{- $own := .Values.volumes.server.image -}}
{{- include "sandlot.image" (dict "root" . "registry" $image.registry "repository" $image.repository "name" "volume-server" "digest" $own.digest "tag" (coalesce $own.tag $image.tag .Chart.AppVersion)) -}}
{{- end -}}

{{/* Settings of the controller alone: services/volume-controller/src/wiring/config.ts has their meaning. */}}
{{- define "sandlot.env.runtime.volume-controller" -}}
{{- $peers := list -}}
{{- range list "api" "volume-controller" -}}
{{- $labels := include "sandlot.selectorLabels" (dict "root" $ "component" .) | fromYaml -}}
{{- $peers = append $peers (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" $.Release.Namespace)) "podSelector" (dict "matchLabels" $labels)) -}}
{{- end -}}
{{ include "sandlot.env.tokenKeys" . }}
- { name: VOLUMES_NAMESPACE, value: {{ include "sandlot.volumes.namespace" . }} }
- { name: VOLUMES_STORAGE_CLASS, value: {{ .Values.volumes.storageClass | quote }} }
- { name: VOLUMES_SIZE, value: {{ .Values.volumes.size | quote }} }
- { name: VOLUME_SERVER_IMAGE, value: {{ include "sandlot.volumes.image" . | quote }} }
- { name: VOLUME_SERVER_PULL_POLICY, value: {{ .Values.image.pullPolicy }} }
- { name: VOLUME_SERVER_RESOURCES, value: {{ toJson .Values.volumes.server.resources | quote }} }
- { name: VOLUME_SERVER_PEERS, value: {{ toJson $peers | quote }} }
{{- end -}}

{{/* CEL: whether every container that mounts the disk with the volumes mounts one volume of it. */}}
{{- define "sandlot.volumes.mountsOne" -}}
variables.volumes.all(v, v.?persistentVolumeClaim.?claimName.orValue('') != 'sandlot-volumes'
|| variables.containers.all(c, c.?volumeDevices.orValue([]).size() == 0 && c.?volumeMounts.orValue([]).all(m, m.name != v.name
|| (m.?subPathExpr.orValue('') == '' && m.?subPath.orValue('').matches('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')))))
{{- end -}}

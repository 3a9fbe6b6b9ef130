{{/* Template builds: services/template-builder (the controller) and builder/ (the image plane) in one Pod. */}}

{{- define "sandlot.builds.fullname" -}}{{ include "sandlot.fullname" . }}-template-builder{{- end -}}

{{/* ConfigMap in which the controller notes which namespaces have images, and which of them nothing needs. */}}
{{- define "sandlot.builds.record" -}}{{ include "sandlot.fullname" . }}-build-images{{- end -}}

{{/* Port on which the controller serves the API, and that of metrics and probes of the image plane. */}}
{{- define "sandlot.builds.port" -}}8080{{- end -}}
{{- define "sandlot.builds.planePort" -}}9464{{- end -}}

{{/* Stops a rendering that could build nothing. */}}
{{- define "sandlot.builds.check" -}}
{{- if not .Values.builds.registry.name -}}
{{- fail "builds.registry.name: builds push images to a registry; name it, as registry.example.com/sandlot" -}}
{{- end -}}
{{- if not .Values.gateway.enabled -}}
{{- fail "builds.enabled: the steps of a build run through the gateway; leave gateway.enabled on" -}}
{{- end -}}
{{- if not (include "sandlot.redis.url" .) -}}
{{- fail "builds.enabled: the queue of builds and their logs are in Redis; leave redis.enabled on, or name redis.external.url" -}}
{{- end -}}
{{- end -}}

{{/* Settings of the API that concern builds; none without them. */}}
{{- define "sandlot.builds.apiSettings" -}}
{{- if .Values.builds.enabled }}
- { name: BUILDER_URL, value: "http://{{ include "sandlot.builds.fullname" . }}.{{ .Release.Namespace }}.svc:{{ include "sandlot.builds.port" . }}" }
- { name: BUILD_FILES_MAX_BYTES, value: {{ .Values.builds.limits.fileBytes | int64 | quote }} }
{{- end }}
{{- end -}}

{{/* Settings of the controller alone: services/template-builder/src/wiring/config.ts has their meaning. */}}
{{- define "sandlot.env.template-builder" }}{{- end -}}
{{- define "sandlot.env.runtime.template-builder" -}}
{{- $builds := .Values.builds -}}
{{ include "sandlot.env.tokenKeys" . }}
- { name: PORT, value: {{ include "sandlot.builds.port" . | quote }} }
- { name: GATEWAY_URL, value: "http://{{ include "sandlot.fullname" . }}-gateway.{{ .Release.Namespace }}.svc:8080" }
- { name: BUILD_REGISTRY, value: {{ $builds.registry.name | quote }} }
- { name: BUILD_CONCURRENCY, value: {{ $builds.concurrentBuilds | quote }} }
- { name: BUILDS_PER_NAMESPACE, value: {{ $builds.perNamespace | quote }} }
- { name: BUILD_POOL_REPLICAS, value: {{ $builds.pool.replicas | quote }} }
- { name: BUILD_BASE_IMAGES, value: {{ toJson $builds.baseImages | quote }} }
- { name: BUILD_TEMPLATE, value: {{ toJson $builds.template | quote }} }
{{- if .Values.api.enabled }}
- { name: ENVS_NAMESPACE, value: {{ include "sandlot.api.envsNamespace" . }} }
{{- end }}
- { name: BUILD_IMAGES_RECORD, value: {{ include "sandlot.builds.record" . }} }
- { name: BUILD_IMAGES_COLLECT, value: {{ $builds.images.collect | quote }} }
- { name: BUILD_IMAGES_GRACE_SECONDS, value: {{ $builds.images.graceSeconds | int64 | quote }} }
- { name: BUILD_NAMESPACE_SECRETS, value: {{ $builds.namespaceSecrets | quote }} }
{{- end -}}

{{/* Settings of the image plane: builder/internal/serve/settings.go has their meaning. */}}
{{- define "sandlot.builds.planeEnv" -}}
{{- $builds := .root.Values.builds -}}
- { name: SANDLOT_IMAGE_REGISTRY, value: {{ $builds.registry.name | quote }} }
- { name: SANDLOT_IMAGE_ADMIN, value: ":{{ include "sandlot.builds.planePort" .root }}" }
{{- if $builds.registry.credentialsSecret }}
- { name: SANDLOT_IMAGE_DOCKER_CONFIG, value: /etc/sandlot/registry/config.json }
{{- end }}
{{- if $builds.registry.caSecret }}
- { name: SANDLOT_IMAGE_CA, value: /etc/sandlot/registry-ca/ca.crt }
{{- end }}
{{- with $builds.tenantRegistries }}
- { name: SANDLOT_IMAGE_TENANT_REGISTRIES, value: {{ join "," . | quote }} }
{{- end }}
{{- with $builds.plainHTTP }}
- { name: SANDLOT_IMAGE_PLAIN_HTTP, value: {{ join "," . | quote }} }
{{- end }}
{{- with $builds.privateAddresses }}
- { name: SANDLOT_IMAGE_PRIVATE_ADDRESSES, value: {{ join "," . | quote }} }
{{- end }}
{{- with $builds.architecture }}
- { name: SANDLOT_IMAGE_ARCHITECTURE, value: {{ . }} }
{{- end }}
- { name: SANDLOT_IMAGE_LAYER_BYTES, value: {{ $builds.limits.layerBytes | int64 | quote }} }
- { name: SANDLOT_IMAGE_FILE_BYTES, value: {{ $builds.limits.fileBytes | int64 | quote }} }
- { name: SANDLOT_IMAGE_IMAGE_BYTES, value: {{ $builds.limits.imageBytes | int64 | quote }} }
- { name: SANDLOT_IMAGE_OPERATIONS, value: {{ mul 4 (int $builds.concurrentBuilds) | quote }} }
{{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraEnv") }}
{{ . }}
{{- end }}
{{- end -}}

{{- define "sandlot.builds.controller" -}}
name: {{ include "sandlot.controller.container" .root }}
image: {{ include "sandlot.controller.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- with include "sandlot.pod.args" (dict "first" .root.Values.controller.args "values" .values) }}
{{ . | trim }}
{{- end }}
env: {{- include "sandlot.controller.env" . | nindent 2 }}
{{- with include "sandlot.pod.envFrom" . }}
{{ . }}
{{- end }}
ports:
  - { name: probes, containerPort: {{ .root.Values.controller.probePort }} }
  - { name: metrics, containerPort: {{ .root.Values.controller.metricsPort }} }
  - { name: builds, containerPort: {{ include "sandlot.builds.port" .root }} }
{{ include "sandlot.controller.probes" .root }}
resources: {{- toYaml .values.resources | nindent 2 }}
securityContext: {{- include "sandlot.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  - { name: socket, mountPath: /run/sandlot }
  - { name: kubernetes-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
  {{- include "sandlot.controller.mounts" . | nindent 2 }}
  {{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraVolumeMounts") }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "sandlot.builds.plane" -}}
{{- $image := dict "root" .root "name" "image-plane" "values" (dict "image" .values.planeImage) -}}
name: image-plane
image: {{ include "sandlot.controller.image" $image }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env: {{- include "sandlot.builds.planeEnv" . | nindent 2 }}
{{- with include "sandlot.pod.envFrom" . }}
{{ . }}
{{- end }}
ports:
  - { name: plane-metrics, containerPort: {{ include "sandlot.builds.planePort" .root }} }
startupProbe:
  httpGet: { path: /healthz, port: plane-metrics }
  periodSeconds: 1
  failureThreshold: 120
readinessProbe:
  httpGet: { path: /readyz, port: plane-metrics }
  periodSeconds: 2
  failureThreshold: 3
livenessProbe:
  httpGet: { path: /healthz, port: plane-metrics }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
resources: {{- toYaml .values.planeResources | nindent 2 }}
securityContext: {{- include "sandlot.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  - { name: socket, mountPath: /run/sandlot }
  {{- if .values.registry.credentialsSecret }}
  - { name: registry, mountPath: /etc/sandlot/registry, readOnly: true }
  {{- end }}
  {{- if .values.registry.caSecret }}
  - { name: registry-ca, mountPath: /etc/sandlot/registry-ca, readOnly: true }
  {{- end }}
  {{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraVolumeMounts") }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "sandlot.builds.volumes" -}}
- name: socket
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
# What the kubelet would mount into every container of the Pod: here it is for the controller alone.
- name: kubernetes-token
  projected:
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 3607 }
      - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
      - downwardAPI: { items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }] }
{{- include "sandlot.controller.volumes" . }}
{{- with .values.registry.credentialsSecret }}
- name: registry
  secret: { secretName: {{ . }}, items: [{ key: .dockerconfigjson, path: config.json }] }
{{- end }}
{{- with .values.registry.caSecret }}
- name: registry-ca
  secret: { secretName: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- with include "sandlot.pod.extra" (dict "scope" . "field" "extraVolumes") }}
{{ . }}
{{- end }}
{{- end -}}

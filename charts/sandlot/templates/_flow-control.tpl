{{/* Subjects of a FlowSchema; call with (dict "root" $ "names" COMPONENTS). */}}
{{- define "sandlot.flowControl.subjects" -}}
{{- range .names }}
- kind: ServiceAccount
  serviceAccount:
    name: {{ include "sandlot.fullname" $.root }}-{{ . }}
    namespace: {{ $.root.Release.Namespace }}
{{- end }}
{{- end -}}

{{/* Components of the release that speak to the API server, as a JSON list. */}}
{{- define "sandlot.flowControl.components" -}}
{{- $names := include "sandlot.controllers" . | fromYaml | keys | sortAlpha }}
{{- if .Values.api.enabled }}{{ $names = append $names "api" }}{{ end }}
{{- if .Values.gateway.enabled }}{{ $names = append $names "gateway" }}{{ end }}
{{- if .Values.egress.enabled }}{{ $names = append $names "egress" }}{{ end }}
{{- toJson $names -}}
{{- end -}}

{{/*
Rules by level: name of the level -> YAML. Kubernetes can tell requests apart by account, verb and resource alone. The first
schema that fits counts: lists, watches and Events leave first, and what remains of an account is its work.
*/}}
{{- define "sandlot.flowControl.levels" -}}
{{- $all := include "sandlot.flowControl.components" . | fromJsonArray }}
{{- $every := "{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }" -}}
resyncs: |
  - subjects: {{- include "sandlot.flowControl.subjects" (dict "root" . "names" $all) | trim | nindent 6 }}
    resourceRules:
      - { verbs: [list, watch], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }
      - { verbs: ['*'], apiGroups: ["", events.k8s.io], resources: [events], namespaces: ['*'] }
claims: |
  # A controller that cannot renew its lease stops.
  - subjects: {{- include "sandlot.flowControl.subjects" (dict "root" . "names" $all) | trim | nindent 6 }}
    resourceRules:
      - { verbs: ['*'], apiGroups: [coordination.k8s.io], resources: [leases], namespaces: ['*'] }
  - subjects: {{- include "sandlot.flowControl.subjects" (dict "root" . "names" (without $all "sandbox-controller" "snapshot-controller" "warmpool-controller" "template-builder" "volume-controller" "webhooks")) | trim | nindent 6 }}
    resourceRules:
      - {{ $every }}
starts: |
  # Pods of claims without stock, of sandboxes that wake, and of members of pools: they differ in nothing that Kubernetes looks at.
  - subjects: {{- include "sandlot.flowControl.subjects" (dict "root" . "names" (without $all "claim-controller" "warmpool-controller" "template-builder" "volume-controller" "webhooks" "api" "gateway" "egress")) | trim | nindent 6 }}
    resourceRules:
      - {{ $every }}
refills: |
  - subjects: {{- include "sandlot.flowControl.subjects" (dict "root" . "names" (concat (list "warmpool-controller") (ternary (list "template-builder") list .Values.builds.enabled) (ternary (list "volume-controller") list (ne (include "sandlot.volumes.namespace" .) "")) (ternary (list "webhooks") list .Values.webhooks.enabled))) | trim | nindent 6 }}
    resourceRules:
      - {{ $every }}
{{- end -}}

{{/* The namespaces that the release serves, separated by commas; empty: all. */}}
{{- define "sandlot.namespaces" -}}
{{- if and .Values.watchNamespace .Values.watchNamespaces -}}
{{- fail (printf "watchNamespace and watchNamespaces: watchNamespace is the deprecated form for one namespace; leave it out, and add %s to watchNamespaces" .Values.watchNamespace) -}}
{{- end -}}
{{- join "," (compact (prepend (.Values.watchNamespaces | default list) .Values.watchNamespace)) -}}
{{- end -}}

{{/* Variable of the services with these namespaces; call with $. */}}
{{- define "sandlot.namespaces.env" -}}
{{- with include "sandlot.namespaces" . }}
- { name: WATCH_NAMESPACES, value: {{ . | quote }} }
{{- end }}
{{- end -}}

{{/* Stops a rendering with a value that needs a right in the cluster; call with (dict "root" $ "value" NAME "why" TEXT). */}}
{{- define "sandlot.namespaces.checkCluster" -}}
{{- with include "sandlot.namespaces" .root -}}
{{- fail (printf "%s: %s belong to the cluster, and a release that serves single namespaces (%s) has no role in it; leave out one of the two" $.value $.why (ternary "watchNamespace" "watchNamespaces" (ne $.root.Values.watchNamespace ""))) -}}
{{- end -}}
{{- end -}}

{{/*
The rights of a component: a ClusterRole, or a Role in each namespace that the release serves, and its binding. Call with the
scope of the component and "rules" with their text.
*/}}
{{- define "sandlot.namespaces.roles" -}}
{{- $name := printf "%s-%s" (include "sandlot.fullname" .root) .name }}
{{- $labels := include "sandlot.labels" . }}
{{- range $namespace := splitList "," (include "sandlot.namespaces" .root) }}
{{- $kind := ternary "Role" "ClusterRole" (ne $namespace "") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- $labels | nindent 4 }}
rules: {{- $.rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ $.root.Release.Namespace }}
{{- end }}
{{- end -}}

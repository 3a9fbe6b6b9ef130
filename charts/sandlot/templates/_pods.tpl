{{/*
What all components have in common and each may add to or replace, one template for each concern. Call them with the scope of
the component: (dict "root" $ "name" NAME "component" COMPONENT "values" VALUES), and "common" with the values that stand in
where the component has none: those of controller.* for Deployments, none for servers and the node component.
*/}}

{{/* Labels of the Pods besides those of the release. */}}
{{- define "sandlot.pod.labels" -}}
{{- with merge dict (.values.podLabels | default dict) (.common.podLabels | default dict) }}
{{- toYaml . }}
{{- end }}
{{- end -}}

{{/* Annotations of the Pods besides the chart's own. */}}
{{- define "sandlot.pod.annotations" -}}
{{- with merge dict (.values.podAnnotations | default dict) (.common.podAnnotations | default dict) }}
{{- toYaml . }}
{{- end }}
{{- end -}}

{{/* Elements that values add to a list: first those for all components, then the component's own. Call with (dict "scope" SCOPE "field" FIELD). */}}
{{- define "sandlot.pod.extra" -}}
{{- with concat (get .scope.common .field | default list) (get .scope.values .field | default list) }}
{{- toYaml . }}
{{- end }}
{{- end -}}

{{/* A list of the Pod or its container, with what values add, or nothing. Call with (dict "scope" SCOPE "key" "volumes" "own" TEXT "field" "extraVolumes"). */}}
{{- define "sandlot.pod.list" -}}
{{- with list (trim .own) (include "sandlot.pod.extra" .) | compact | join "\n" -}}
{{ $.key }}: {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where the image of the Pods comes from: what its registry asks for. */}}
{{- define "sandlot.pod.pullSecrets" -}}
{{- with concat (.root.Values.global.imagePullSecrets | default list) .root.Values.image.pullSecrets | uniq }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Priority of the Pods: the component's class, that of all, or the one that the chart creates. */}}
{{- define "sandlot.pod.priorityClass" -}}
{{- with coalesce .values.priorityClassName .common.priorityClassName (include "sandlot.priorityClass.name" .root) }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Name of the PriorityClass that the chart creates; empty when it creates none. */}}
{{- define "sandlot.priorityClass.name" -}}
{{- if and .Values.priorityClass.create (not (include "sandlot.namespaces" .)) -}}
{{- .Values.priorityClass.name | default (printf "%s-control-plane" (include "sandlot.fullname" .)) -}}
{{- end -}}
{{- end -}}

{{/* True if the component may have more than one replica. */}}
{{- define "sandlot.pod.isSpread" -}}
{{- if or (gt (int .values.replicas) 1) (.values.autoscaling | default dict).enabled }}true{{ end -}}
{{- end -}}

{{/* The rules of the values that spread the replicas, as a list. */}}
{{- define "sandlot.pod.spreadRules" -}}
{{- coalesce .values.topologySpreadConstraints .common.topologySpreadConstraints list | toJson -}}
{{- end -}}

{{/*
Rules that spread the replicas over nodes; one that selects no Pods counts those of the component. A rollout counts new Pods alone.
*/}}
{{- define "sandlot.pod.spread" -}}
{{- $rules := list -}}
{{- if include "sandlot.pod.isSpread" . -}}
{{- $rules = list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway" "matchLabelKeys" (list "pod-template-hash")) -}}
{{- end -}}
{{- $labels := dict "matchLabels" (include "sandlot.selectorLabels" . | fromYaml) -}}
{{- with coalesce (include "sandlot.pod.spreadRules" . | fromJsonArray) $rules }}
topologySpreadConstraints:
  {{- range . }}
  {{- $rule := deepCopy . }}
  {{- if not $rule.labelSelector }}{{ $_ := set $rule "labelSelector" $labels }}{{ end }}
  - {{- toYaml $rule | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/*
Affinity, with a preference for a zone that has no other replica. As a second rule of spread it would undo the first one on nodes
without a zone: the scheduler scores only nodes that have the labels of all rules.
*/}}
{{- define "sandlot.pod.affinity" -}}
{{- $affinity := coalesce .values.affinity .common.affinity dict -}}
{{- if and (include "sandlot.pod.isSpread" .) (not (include "sandlot.pod.spreadRules" . | fromJsonArray)) (not (hasKey $affinity "podAntiAffinity")) -}}
{{- $labels := dict "matchLabels" (include "sandlot.selectorLabels" . | fromYaml) -}}
{{- $term := dict "topologyKey" "topology.kubernetes.io/zone" "labelSelector" $labels -}}
{{- $preferred := list (dict "weight" 100 "podAffinityTerm" $term) -}}
{{- $affinity = merge (dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" $preferred)) $affinity -}}
{{- end -}}
{{- with $affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where the Pods are scheduled, and what waits for them. */}}
{{- define "sandlot.pod.placement" -}}
{{- include "sandlot.pod.pullSecrets" . }}
{{- include "sandlot.pod.priorityClass" . }}
{{- with coalesce .values.nodeSelector .common.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with coalesce .values.tolerations .common.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "sandlot.pod.affinity" . }}
{{- include "sandlot.pod.spread" . }}
{{- end -}}

{{/* Environment that values take from whole ConfigMaps and Secrets. */}}
{{- define "sandlot.pod.envFrom" -}}
{{- include "sandlot.pod.list" (dict "scope" . "key" "envFrom" "own" "" "field" "extraEnvFrom") }}
{{- end -}}

{{/* Arguments of one of our processes; call with (dict "first" ARGS "values" VALUES). */}}
{{- define "sandlot.pod.args" -}}
{{- with concat (.first | default list) (.values.extraArgs | default list) }}
{{- if regexMatch "(^|,)--?(metrics|health-probe)-bind-address" (join "," .) }}
{{- fail "controller.args, extraArgs: the ports of the components are controller.metricsPort and controller.probePort; leave out --metrics-bind-address and --health-probe-bind-address" }}
{{- end -}}
args: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The account of a component, named like the component, without a token of its own. */}}
{{- define "sandlot.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "sandlot.fullname" .root }}-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "sandlot.labels" . | nindent 4 }}
  {{- with merge dict (.values.serviceAccountAnnotations | default dict) (.common.serviceAccountAnnotations | default dict) }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}

{{/* Lets a drain of nodes take one replica after the other, where there may be several. */}}
{{- define "sandlot.disruptionBudget" -}}
{{- if include "sandlot.pod.isSpread" . }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "sandlot.fullname" .root }}-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "sandlot.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "sandlot.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end -}}

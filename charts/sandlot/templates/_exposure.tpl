{{/* How clients reach a component that answers HTTP: its Service, an Ingress, an HTTPRoute. Call these with the scope of the component. */}}

{{/* Fields of a Service that values choose. Those of load balancers and of nodes are left out where the type has none. */}}
{{- define "sandlot.service.fields" -}}
{{- with .values.service -}}
type: {{ .type }}
{{- if eq .type "LoadBalancer" }}
{{- with .loadBalancerClass }}
loadBalancerClass: {{ . }}
{{- end }}
{{- with .loadBalancerSourceRanges }}
loadBalancerSourceRanges: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- if and .externalTrafficPolicy (ne .type "ClusterIP") }}
externalTrafficPolicy: {{ .externalTrafficPolicy }}
{{- end }}
{{- with .sessionAffinity }}
sessionAffinity: {{ . }}
{{- end }}
{{- with .ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .ipFamilies }}
ipFamilies: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* An Ingress and an HTTPRoute to port 8080; "hosts" are those that values leave to the chart. */}}
{{- define "sandlot.exposure" -}}
{{- $name := printf "%s-%s" (include "sandlot.fullname" .root) .name -}}
{{- with .values.ingress }}
{{- if .enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $name }}
  namespace: {{ $.root.Release.Namespace }}
  labels: {{- include "sandlot.labels" $ | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .className }}
  ingressClassName: {{ . }}
  {{- end }}
  rules:
    {{- range coalesce .hosts $.hosts (list "") }}
    - {{- with . }}
      host: {{ . | quote }}
      {{- end }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: {{ $name }}, port: { name: http } } }
    {{- end }}
  {{- with .tls }}
  tls: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
{{- with .values.httpRoute }}
{{- if .enabled }}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ $name }}
  namespace: {{ $.root.Release.Namespace }}
  labels: {{- include "sandlot.labels" $ | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  parentRefs: {{- toYaml .parentRefs | nindent 4 }}
  {{- with coalesce .hostnames $.hosts }}
  hostnames: {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - backendRefs:
        - { name: {{ $name }}, port: 8080 }
      {{- with .filters }}
      filters: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .timeouts }}
      timeouts: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* As many replicas as their load asks for. */}}
{{- define "sandlot.autoscaler" -}}
{{- with .values.autoscaling }}
{{- if .enabled }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
{{- fail (printf "%s.autoscaling: minReplicas is greater than maxReplicas" $.name) }}
{{- end }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "sandlot.fullname" $.root }}-{{ $.name }}
  namespace: {{ $.root.Release.Namespace }}
  labels: {{- include "sandlot.labels" $ | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "sandlot.fullname" $.root }}-{{ $.name }} }
  minReplicas: {{ .minReplicas }}
  maxReplicas: {{ .maxReplicas }}
  metrics:
    {{- range $resource, $percent := dict "cpu" .targetCPU "memory" .targetMemory }}
    {{- if $percent }}
    - type: Resource
      resource: { name: {{ $resource }}, target: { type: Utilization, averageUtilization: {{ $percent }} } }
    {{- end }}
    {{- end }}
    {{- with .metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .behavior }}
  behavior: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

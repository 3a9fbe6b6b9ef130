{{/*
Shared parts of the ValidatingAdmissionPolicies. docs/security/admission-policies.md explains every rule.
*/}}

{{/* Label on a Namespace: rules that do not apply to its sandboxes, separated by dots, or `all`. */}}
{{- define "sandlot.policies.exemptLabel" -}}sandlot.dev/policy-exempt{{- end -}}

{{/* Username of a service of this release; call with (dict "root" $ "name" NAME). */}}
{{- define "sandlot.policies.account" -}}
{{ printf "system:serviceaccount:%s:%s-%s" .root.Release.Namespace (include "sandlot.fullname" .root) .name }}
{{- end -}}

{{/* Usernames of the services that write Sandboxes, claims and what belongs to them: name -> username. */}}
{{- define "sandlot.policies.accounts" -}}
{{- range list "sandbox-controller" "warmpool-controller" "claim-controller" "api" }}
{{ . }}: {{ include "sandlot.policies.account" (dict "root" $ "name" .) }}
{{- end }}
{{- end -}}

{{/* CEL: whether a controller writes. Controllers copy what a user wrote, and that was checked when the user wrote it. */}}
{{- define "sandlot.policies.isController" -}}
{{- $accounts := include "sandlot.policies.accounts" . | fromYaml -}}
request.userInfo.username in [{{ range $index, $name := list "sandbox-controller" "warmpool-controller" "claim-controller" }}{{ if $index }}, {{ end }}'{{ get $accounts $name }}'{{ end }}]
{{- end -}}

{{/* CEL: a list of strings. */}}
{{- define "sandlot.policies.list" -}}
[{{ range $index, $item := . }}{{ if $index }}, {{ end }}'{{ $item }}'{{ end }}]
{{- end -}}

{{/* CEL: a raw string, a regular expression that matches keys which begin with one of these prefixes. */}}
{{- define "sandlot.policies.prefixes" -}}
{{- $quoted := list -}}
{{- range . }}{{ $quoted = append $quoted (regexQuoteMeta .) }}{{ end -}}
r'^({{ join "|" $quoted }})'
{{- end -}}

{{/* Binds a policy to the namespaces that the release serves, and to "also" besides; call with (dict "root" $ "name" NAME "exempts" BOOL "also" NAMESPACES). */}}
{{- define "sandlot.policies.binding" -}}
{{- $actions := dict "enforce" (list "Deny" "Audit") "warn" (list "Warn" "Audit") "audit" (list "Audit") -}}
{{- $selected := list -}}
{{- with include "sandlot.namespaces" .root -}}
{{- $selected = append $selected (dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" (concat (splitList "," .) ($.also | default list) | uniq)) -}}
{{- end -}}
{{- if .exempts -}}
{{- $selected = append $selected (dict "key" (include "sandlot.policies.exemptLabel" .root) "operator" "NotIn" "values" (list "all")) -}}
{{- end -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "sandlot.labels" (dict "root" .root) | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [{{ join ", " (get $actions .root.Values.policies.mode) }}]
  {{- with $selected }}
  matchResources:
    namespaceSelector:
      matchExpressions: {{- toYaml . | nindent 8 }}
  {{- end }}
{{- end -}}

{{/* Rules as validations; call with a list of (dict "rule" NAME "says" TEXT "holds" CEL). */}}
{{- define "sandlot.policies.validations" -}}
{{- range . }}
- message: {{ printf "%s (rule %s of docs/security/admission-policies.md)" .says .rule | quote }}
  reason: Forbidden
  expression: {{ printf "'%s' in variables.exempt || (%s)" .rule .holds | quote }}
{{- end }}
{{- end -}}

{{/* Variables of every policy whose rules a namespace can be exempt from. */}}
{{- define "sandlot.policies.exempt" -}}
- name: exempt
  expression: namespaceObject.metadata.?labels[?'{{ include "sandlot.policies.exemptLabel" . }}'].orValue('').split('.')
{{- end -}}

{{/*
CEL: whether a write may break one of these rules. In a match condition it spares the API server the evaluation of a policy
for writes that break none, which costs four times as much. There is no access to variables, namespaces and rights, so
exemptions and bypasses count later. Call with (dict "rules" RULES "variables" VARIABLES).
*/}}
{{- define "sandlot.policies.mayBreak" -}}
{{- $holds := list -}}
{{- range .rules }}{{ $holds = append $holds (printf "(%s)" .holds) }}{{ end -}}
{{- $text := printf "!(%s)" (join " && " $holds) -}}
{{- $values := dict "exempt" "['']" "mayBypass" "false" -}}
{{- range .variables }}{{ if not (hasKey $values .name) }}{{ $_ := set $values .name .expression }}{{ end }}{{ end -}}
{{- range $name, $value := $values }}{{ $text = replace (printf "variables.%s" $name) (printf "(%s)" $value) $text }}{{ end -}}
{{ $text }}
{{- end -}}

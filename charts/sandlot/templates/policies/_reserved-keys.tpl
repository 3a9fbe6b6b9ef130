{{/*
Variables for the rules below. A user with this right, such as a cluster administrator who restores a backup, may write
reserved keys, and the garbage collector may remove owners. It is looked up only for a write that changes one.
*/}}
{{- define "sandlot.policies.reservedVariables" -}}
- name: labels
  expression: object.metadata.?labels.orValue({})
- name: annotations
  expression: object.metadata.?annotations.orValue({})
- name: oldLabels
  expression: "request.operation == 'CREATE' ? {} : oldObject.metadata.?labels.orValue({})"
- name: oldAnnotations
  expression: "request.operation == 'CREATE' ? {} : oldObject.metadata.?annotations.orValue({})"
- name: owners
  expression: dyn(object.metadata.?ownerReferences.orValue([]))
- name: oldOwners
  expression: "request.operation == 'CREATE' ? dyn([]) : dyn(oldObject.metadata.?ownerReferences.orValue([]))"
- name: mayBypass
  expression: authorizer.group('sandlot.dev').resource('reservedkeys').namespace(request.namespace).check('update').allowed()
{{- end -}}

{{/* CEL: whether no owner of one of our kinds is in one of the lists alone. */}}
{{- define "sandlot.policies.sameOwners" -}}
{{- $ours := "o.apiVersion.matches('^(extensions\\\\.)?agents\\\\.x-k8s\\\\.io/')" -}}
variables.owners.all(o, !{{ $ours }} || variables.oldOwners.exists(p, p.uid == o.uid && p.?controller.orValue(false) == o.?controller.orValue(false)))
&& variables.oldOwners.all(o, !{{ $ours }} || variables.owners.exists(p, p.uid == o.uid))
{{- end -}}

{{/* CEL: whether a map has the reserved keys it had; call with (dict "now" VARIABLE "old" VARIABLE "prefixes" PREFIXES "open" KEYS). */}}
{{- define "sandlot.policies.sameReserved" -}}
{{- $isReserved := printf "k.matches(%s) && !(k in %s)" (include "sandlot.policies.prefixes" .prefixes) (include "sandlot.policies.list" .open) -}}
{{ .now }}.all(k, !({{ $isReserved }}) || (k in {{ .old }} && {{ .old }}[k] == {{ .now }}[k]))
{{- end -}}

{{/* The same for keys that were removed. */}}
{{- define "sandlot.policies.keptReserved" -}}
{{- $isReserved := printf "k.matches(%s) && !(k in %s)" (include "sandlot.policies.prefixes" .prefixes) (include "sandlot.policies.list" .open) -}}
{{ .old }}.all(k, !({{ $isReserved }}) || k in {{ .now }})
{{- end -}}

{{/* Rules as validations that no namespace is exempt from. */}}
{{- define "sandlot.policies.strictValidations" -}}
{{- range . }}
- message: {{ printf "%s (rule %s of docs/security/admission-policies.md)" .says .rule | quote }}
  reason: Forbidden
  expression: {{ .holds | quote }}
{{- end }}
{{- end -}}

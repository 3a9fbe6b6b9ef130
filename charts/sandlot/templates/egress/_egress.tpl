{{/* Egress by name: services/egress (the rules process) and egress/ (the data plane, the proxy) in one Pod. */}}

{{- define "sandlot.egress.fullname" -}}{{ include "sandlot.fullname" . }}-egress{{- end -}}

{{/* Secret with the authority by which the proxy signs certificates of hosts. */}}
{{- define "sandlot.egress.caSecret" -}}
{{- default (printf "%s-ca" (include "sandlot.egress.fullname" .)) .Values.egress.ca.existingSecret -}}
{{- end -}}

{{/* Secret with the key from which sandboxes get what they prove themselves by. */}}
{{- define "sandlot.egress.proofSecret" -}}
{{- default (printf "%s-proof" (include "sandlot.egress.fullname" .)) .Values.egress.credentials.existingSecret -}}
{{- end -}}

{{/* Settings of the processes that know of header rules; none where the installation has none. */}}
{{- define "sandlot.egress.credentialSettings" -}}
{{- if .Values.egress.credentials.enabled }}
- name: EGRESS_PROOF_KEY
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.egress.proofSecret" . }}, key: proof } }
- name: EGRESS_PROOF_KEY_OTHER
  valueFrom: { secretKeyRef: { name: {{ include "sandlot.egress.proofSecret" . }}, key: proof.other, optional: true } }
- { name: EGRESS_NAMESPACE_SECRETS, value: {{ .Values.egress.credentials.namespaceSecrets | quote }} }
{{- end }}
{{- end -}}

{{/* The port for CONNECT, and those of the Pod that sandboxes do not use. */}}
{{- define "sandlot.egress.connectPort" -}}3128{{- end -}}
{{- define "sandlot.egress.adminPort" -}}9464{{- end -}}
{{- define "sandlot.egress.refusalsPort" -}}9465{{- end -}}

{{/* The ports of sandboxes but the resolver's, as a JSON list. The same on the Services and in the Pod: some network plugins drop what differs. */}}
{{- define "sandlot.egress.ports" -}}
{{- $ports := list -}}
{{- range concat .Values.egress.ports.http .Values.egress.ports.tls }}{{ $ports = append $ports (int .) }}{{ end -}}
{{- toJson (append $ports (int (include "sandlot.egress.connectPort" .))) -}}
{{- end -}}

{{/* The Pods of the proxy and its ports for sandboxes, as JSON, for the NetworkPolicies of templates. */}}
{{- define "sandlot.egress.proxyPeers" -}}
{{- $labels := include "sandlot.selectorLabels" (dict "root" . "component" "egress") | fromYaml -}}
{{- toJson (dict "podLabels" $labels "ports" (include "sandlot.egress.ports" . | fromJsonArray)) -}}
{{- end -}}

{{/* Stops a rendering in which two listeners of the Pod want the same port. */}}
{{- define "sandlot.egress.checkPorts" -}}
{{- $taken := dict
  "53" "the resolver" (include "sandlot.egress.connectPort" .) "CONNECT" (include "sandlot.egress.adminPort" .) "metrics of the proxy"
  (include "sandlot.egress.refusalsPort" .) "the rules process" (toString .Values.controller.probePort) "controller.probePort" (toString .Values.controller.metricsPort) "controller.metricsPort" -}}
{{- range $kind := list "http" "tls" -}}
{{- range get $.Values.egress.ports $kind -}}
{{- $port := toString (int .) -}}
{{- with get $taken $port -}}
{{- fail (printf "egress.ports.%s: port %s is already that of %s; choose another one" $kind $port .) -}}
{{- end -}}
{{- $_ := set $taken $port (printf "egress.ports.%s" $kind) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The DNS servers that answer look-ups, as a JSON list of (address, port). */}}
{{- define "sandlot.egress.resolvers" -}}
{{- $servers := list -}}
{{- range .Values.egress.resolvers | default .Values.sandboxes.nameservers -}}
{{- $address := . -}}
{{- $port := "53" -}}
{{- if hasPrefix "[" . -}}
{{- $address = regexFind "^\\[[^]]*" . | trimPrefix "[" -}}
{{- $port = regexFind "[0-9]+$" (splitList "]" . | last) | default "53" -}}
{{- else if eq (len (splitList ":" .)) 2 -}}
{{- $address = splitList ":" . | first -}}
{{- $port = splitList ":" . | last -}}
{{- end -}}
{{- $servers = append $servers (dict "address" $address "port" $port) -}}
{{- end -}}
{{- toJson $servers -}}
{{- end -}}

{{/*
The blocks that are not the internet: libs/api-types/src/egress/blocked-addresses.ts has them for the processes, and a test compares
the two.
*/}}
{{- define "sandlot.egress.blocked" -}}
IPv4:
  - 10.0.0.0/8
  - 172.16.0.0/12
  - 192.168.0.0/16
  - 169.254.0.0/16
  - 0.0.0.0/8
  - 100.64.0.0/10
  - 127.0.0.0/8
  - 192.0.0.0/24
  - 192.0.2.0/24
  - 192.88.99.0/24
  - 198.18.0.0/15
  - 198.51.100.0/24
  - 203.0.113.0/24
  - 224.0.0.0/4
  - 240.0.0.0/4
IPv6:
  - fc00::/7
  - fe80::/10
  - ::/8
  - 64:ff9b::/96
  - 64:ff9b:1::/48
  - 100::/64
  - 2001::/32
  - 2001:db8::/32
  - 2002::/16
  - fec0::/10
  - ff00::/8
{{- end -}}

{{/* The internet as peers of a NetworkPolicy: what the blocked blocks leave. */}}
{{- define "sandlot.egress.internet" -}}
{{- $blocked := include "sandlot.egress.blocked" . | fromYaml -}}
{{- $four := $blocked.IPv4 -}}
{{- $six := $blocked.IPv6 -}}
{{- range .Values.network.extraBlockedCIDRs -}}
{{- if contains ":" . }}{{ $six = append $six . }}{{ else }}{{ $four = append $four . }}{{ end -}}
{{- end -}}
- ipBlock: { cidr: 0.0.0.0/0, except: {{ toJson (uniq $four) }} }
- ipBlock: { cidr: "::/0", except: {{ toJson (uniq $six) }} }
{{- end -}}

{{/* Whether the proxy ends TLS for some host, so that sandboxes have to trust its authority. */}}
{{- define "sandlot.egress.inspects" -}}
{{- with .Values.egress }}{{ if and .enabled (or .credentials.enabled (eq .inspect "All")) }}true{{ end }}{{ end -}}
{{- end -}}

{{/* Settings of the other services that concern egress by name; none without it. Call with the scope of the service. */}}
{{- define "sandlot.egress.settings" -}}
{{- with .root }}
{{- if .Values.egress.enabled }}
{{- if eq $.name "sandbox-controller" }}
- { name: EGRESS_SERVICE, value: {{ include "sandlot.egress.fullname" . }} }
{{- if include "sandlot.egress.inspects" . }}
- { name: EGRESS_CA_FILE, value: /etc/sandlot/egress-ca/ca.crt }
{{- end }}
{{- else if eq $.name "api" }}
- { name: EGRESS_REPORTS_HOST, value: {{ include "sandlot.egress.fullname" . }}-reports.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }} }
- { name: EGRESS_REPORTS_PORT, value: {{ include "sandlot.egress.refusalsPort" . | quote }} }
{{- else if has $.name (list "warmpool-controller" "claim-controller") }}
{{- if eq $.name "claim-controller" }}
{{- include "sandlot.egress.credentialSettings" . }}
{{- else if .Values.egress.credentials.enabled }}
- { name: EGRESS_RULES, value: "true" }
{{- end }}
- { name: EGRESS_MODE, value: {{ .Values.egress.mode }} }
- { name: EGRESS_PROXY, value: {{ include "sandlot.egress.proxyPeers" . | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

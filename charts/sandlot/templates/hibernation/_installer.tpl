{{/* Stops a rendering whose installer would leave nodes half installed. */}}
{{- define "sandlot.installer.check" -}}
{{- $installer := .Values.hibernation.installer -}}
{{- if and $installer.enabled (not .Values.hibernation.enabled) -}}
{{- fail "hibernation.installer.enabled: the installer is part of the node component; set hibernation.enabled as well, or hibernation.installer.remove to take off what it installed" -}}
{{- end -}}
{{- if and $installer.remove (or $installer.enabled .Values.hibernation.enabled) -}}
{{- fail "hibernation.installer.remove: turn hibernation.enabled and hibernation.installer.enabled off, or the nodes would get back what they lose" -}}
{{- end -}}
{{- if or $installer.enabled $installer.remove -}}
{{- if ne (base .Values.hibernation.node.runscRoot) "k8s.io" -}}
{{- fail "hibernation.node.runscRoot: gVisor's shim keeps the state of Pods in a folder k8s.io; end the path with it" -}}
{{- end -}}
{{- if ne .Values.hibernation.node.socketFolder "/run/sandlot" -}}
{{- fail "hibernation.node.socketFolder: the shim that the installer installs asks the node component in /run/sandlot; leave the default" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The program runsc on the node. The shim runs the same one: the installer changes both before the node component starts. */}}
{{- define "sandlot.installer.runsc" -}}
{{- if .Values.hibernation.installer.enabled -}}
{{- printf "%s/current/runsc" .Values.hibernation.installer.folder -}}
{{- else -}}
{{- .Values.hibernation.node.runsc -}}
{{- end -}}
{{- end -}}

{{/* The container that installs or removes gVisor on its node; call with (dict "root" $ "verb" VERB). It is root without a capability. */}}
{{- define "sandlot.installer.container" }}
{{- $installer := .root.Values.hibernation.installer }}
{{- $containerd := $installer.containerd }}
{{- $folder := dir $containerd.config }}
{{- $hasDropIns := eq $folder (clean $containerd.dropIns) }}
- name: {{ .verb }}
  image: {{ include "sandlot.controller.image" (dict "root" .root "name" "node-installer" "values" $installer) }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
    - {{ .verb }}
    - -folder={{ $installer.folder }}
    - -handler={{ $installer.handler }}
    - -runsc-root={{ .root.Values.hibernation.node.runscRoot }}
    - -containerd-config={{ $containerd.config }}
    - -containerd-drop-ins={{ $containerd.dropIns }}
    - -containerd-socket={{ $containerd.socket }}
    - -add-import={{ $containerd.addImport }}
    {{- if $installer.restartContainerd }}
    - -restart={{ $containerd.unit }}
    {{- end }}
  resources: {{- toYaml $installer.resources | nindent 4 }}
  securityContext: {{- include "sandlot.containerSecurityContext" .root | nindent 4 }}
  # Paths are those of the node.
  volumeMounts:
    - { name: gvisor, mountPath: {{ $installer.folder }} }
    - { name: runsc-root, mountPath: {{ .root.Values.hibernation.node.runscRoot }}, readOnly: true }
    - { name: containerd-config, mountPath: {{ $folder }}{{ if not (or $containerd.addImport $hasDropIns) }}, readOnly: true{{ end }} }
    {{- if not $hasDropIns }}
    - { name: containerd-drop-ins, mountPath: {{ $containerd.dropIns }} }
    {{- end }}
    {{- if ne $folder (dir $containerd.socket) }}
    # It sees there when containerd started, and connects to see that it serves. It sends nothing.
    - { name: containerd-socket, mountPath: {{ dir $containerd.socket }}, readOnly: true }
    {{- end }}
    {{- if $installer.restartContainerd }}
    - { name: systemd, mountPath: /run/systemd/private }
    {{- end }}
{{- end -}}

{{- define "sandlot.installer.volumes" }}
{{- $installer := .Values.hibernation.installer }}
- name: gvisor
  hostPath: { path: {{ $installer.folder }}, type: DirectoryOrCreate }
- name: runsc-root
  hostPath: { path: {{ .Values.hibernation.node.runscRoot }}, type: DirectoryOrCreate }
- name: containerd-config
  hostPath: { path: {{ dir $installer.containerd.config }}, type: Directory }
- name: containerd-drop-ins
  hostPath: { path: {{ $installer.containerd.dropIns }}, type: DirectoryOrCreate }
- name: containerd-socket
  hostPath: { path: {{ dir $installer.containerd.socket }}, type: Directory }
{{- if $installer.restartContainerd }}
- name: systemd
  hostPath: { path: /run/systemd/private, type: Socket }
{{- end }}
{{- end -}}

{{/*
Rules on a Pod spec, for `variables.pod` and its `variables.containers`. Types of CRDs and of Pods differ, so both are
dynamic. A rule with `of: pod` is about fields that an ephemeral container cannot change.
*/}}
{{- define "sandlot.policies.podRules" -}}
{{- $pods := .Values.policies.pods -}}
- rule: host
  of: pod
  says: A sandbox may not share the network, process or IPC namespace of its node. Remove hostNetwork, hostPID and hostIPC
  holds: >-
    !variables.pod.?hostNetwork.orValue(false) && !variables.pod.?hostPID.orValue(false)
    && !variables.pod.?hostIPC.orValue(false)
- rule: host
  says: A sandbox may not use ports of its node. Remove hostPort
  holds: variables.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))
- rule: host
  says: Probes and hooks run on the node and may only reach their own Pod. Remove host from httpGet and tcpSocket
  holds: >-
    variables.containers.all(c,
    [c.?livenessProbe, c.?readinessProbe, c.?startupProbe, c.?lifecycle.?postStart, c.?lifecycle.?preStop].all(h,
    h.?httpGet.?host.orValue('') == '' && h.?tcpSocket.?host.orValue('') == ''))
- rule: privilege
  says: A sandbox may not run privileged. Remove securityContext.privileged
  holds: variables.containers.all(c, !c.?securityContext.?privileged.orValue(false))
- rule: privilege
  says: A sandbox may only add the capabilities that container runtimes grant by default. Remove the others from capabilities.add
  holds: >-
    variables.containers.all(c, c.?securityContext.?capabilities.?add.orValue([]).all(a, a in
    {{ include "sandlot.policies.list" (concat (list "AUDIT_WRITE" "CHOWN" "DAC_OVERRIDE" "FOWNER" "FSETID" "KILL" "MKNOD" "NET_BIND_SERVICE" "SETFCAP" "SETGID" "SETPCAP" "SETUID" "SYS_CHROOT") $pods.capabilities) }}))
- rule: privilege
  says: A sandbox may not unmask /proc. Remove securityContext.procMount
  holds: variables.containers.all(c, c.?securityContext.?procMount.orValue('Default') == 'Default')
- rule: privilege
  says: A sandbox may not be Unconfined. Use another seccompProfile and appArmorProfile, or none
  holds: >-
    variables.contexts.all(s, s.?seccompProfile.?type.orValue('') != 'Unconfined'
    && s.?appArmorProfile.?type.orValue('') != 'Unconfined')
- rule: privilege
  says: A sandbox may not choose its SELinux user, role or an unconfined type. Remove seLinuxOptions
  holds: >-
    variables.contexts.all(s, s.?seLinuxOptions.?user.orValue('') == '' && s.?seLinuxOptions.?role.orValue('') == ''
    && s.?seLinuxOptions.?type.orValue('') in ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'])
- rule: privilege
  says: A sandbox may not be a Windows host process. Remove windowsOptions.hostProcess
  holds: variables.contexts.all(s, !s.?windowsOptions.?hostProcess.orValue(false))
- rule: privilege
  of: pod
  says: A sandbox may only set sysctls that Kubernetes counts as safe. Remove the others from securityContext.sysctls
  holds: >-
    variables.pod.?securityContext.?sysctls.orValue([]).all(s, s.name in
    ['kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range', 'net.ipv4.ip_unprivileged_port_start',
    'net.ipv4.tcp_syncookies', 'net.ipv4.ping_group_range', 'net.ipv4.ip_local_reserved_ports',
    'net.ipv4.tcp_keepalive_time', 'net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_keepalive_intvl',
    'net.ipv4.tcp_keepalive_probes'])
- rule: volumes
  of: pod
  says: A volume of a sandbox may be an emptyDir, configMap, secret, downwardAPI, projected, image, ephemeral or persistentVolumeClaim, or of a CSI driver in policies.pods.csiDrivers. Remove hostPath and other kinds
  holds: >-
    variables.volumes.all(v, v.all(k, k in
    ['name', 'emptyDir', 'configMap', 'secret', 'downwardAPI', 'projected', 'image', 'ephemeral', 'persistentVolumeClaim']
    || (k == 'csi' && v.csi.driver in {{ include "sandlot.policies.list" $pods.csiDrivers }})))
{{- if include "sandlot.volumes.namespace" . }}
- rule: volumes
  says: The PersistentVolumeClaim sandlot-volumes has the volumes of this namespace. A sandbox may mount one by one, with the id of the volume as subPath
  holds: >-
    {{- include "sandlot.volumes.mountsOne" . | nindent 4 }}
{{- end }}
- rule: tokens
  of: pod
  says: A sandbox may not ask for a token of the Kubernetes API. Remove automountServiceAccountToken, or set it to false
  holds: "!variables.pod.?automountServiceAccountToken.orValue(false)"
- rule: tokens
  of: pod
  says: A projected volume of a sandbox may hold configMap, secret, downwardAPI and clusterTrustBundle. Remove serviceAccountToken and podCertificate
  holds: >-
    variables.volumes.all(v, v.?projected.?sources.orValue([]).all(s, s.all(k, k in
    ['configMap', 'secret', 'downwardAPI', 'clusterTrustBundle']){{ .extraSource }}))
- rule: nodes
  of: pod
  says: A sandbox may not choose its node past the scheduler. Remove nodeName; nodeSelector and affinity are allowed
  holds: variables.pod.?nodeName.orValue('') == ''
- rule: nodes
  of: pod
  says: A sandbox may not tolerate every taint, or that of the control plane. Remove such tolerations
  holds: >-
    variables.pod.?tolerations.orValue([]).all(t, !(t.?key.orValue('') in
    ['', 'node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master']))
- rule: nodes
  of: pod
  says: A sandbox may not have a priority of the system. Remove priorityClassName
  holds: "!variables.pod.?priorityClassName.orValue('').startsWith('system-')"
{{- with $pods.runtimeClasses }}
- rule: runtime
  of: pod
  says: {{ printf "The runtimeClassName of a sandbox must be one of %s" (join ", " .) | quote }}
  holds: variables.pod.?runtimeClassName.orValue('') in {{ include "sandlot.policies.list" . }}
{{- end }}
- rule: disks
  of: pod
  says: A sandbox may only claim new, empty disks. Remove volumeName, selector, dataSource and dataSourceRef from the volumeClaimTemplate of ephemeral volumes
  holds: >-
    variables.volumes.all(v, !has(v.ephemeral) || [v.?ephemeral.?volumeClaimTemplate.?spec].all(s,
    {{ include "sandlot.policies.isNewDisk" "s" }}))
{{- end -}}

{{/* CEL: whether the optional spec of a PersistentVolumeClaim asks for a new, empty disk. */}}
{{- define "sandlot.policies.isNewDisk" -}}
{{ . }}.?volumeName.orValue('') == '' && !{{ . }}.?selector.hasValue() && !{{ . }}.?dataSource.hasValue() && !{{ . }}.?dataSourceRef.hasValue()
{{- end -}}

{{/*
Rules on `volumeClaimTemplates`, for `variables.claims`. The claim-controller binds a PersistentVolume by name after it
has read the volume's label.
*/}}
{{- define "sandlot.policies.diskRules" -}}
- rule: disks
  says: A sandbox may only claim new, empty disks. Remove volumeName, selector, dataSource and dataSourceRef from volumeClaimTemplates
  holds: >-
    variables.claims.all(t, [t.?spec].all(s, {{ include "sandlot.policies.isNewDisk" "s" }}))
    {{- if .Values.claimController.persistentVolumes }}
    || request.userInfo.username == '{{ get (include "sandlot.policies.accounts" . | fromYaml) "claim-controller" }}'
    {{- end }}
- rule: disks
  says: A disk may not claim to be bound. Remove annotations that begin with pv.kubernetes.io/ from volumeClaimTemplates
  holds: variables.claims.all(t, t.?metadata.?annotations.orValue({}).all(k, !k.startsWith('pv.kubernetes.io/')))
{{- end -}}

{{/* Variables that the rules on a Pod spec use, but `pod` and `containers`. */}}
{{- define "sandlot.policies.podVariables" -}}
- name: volumes
  expression: variables.pod.?volumes.orValue([])
- name: contexts
  expression: "[variables.pod.?securityContext] + variables.containers.map(c, c.?securityContext)"
{{- end -}}

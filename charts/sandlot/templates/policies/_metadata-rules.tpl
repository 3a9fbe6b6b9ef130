{{/* Prefixes of annotation keys by which other software gives a Pod networks, roles, devices or another runtime. */}}
{{- define "sandlot.policies.deniedAnnotations" -}}
# Networks and addresses.
- k8s.v1.cni.cncf.io/
- v1.multus-cni.io/
- cni.projectcalico.org/
- projectcalico.org/
- k8s.ovn.org/
- ovn.kubernetes.io/
- ipam.cilium.io/
- policy.cilium.io/
- io.cilium
- networking.gke.io/
- vpc.amazonaws.com/
- kube-router.io/
- ipam.spidernet.io/
# Roles of clouds and vaults.
- iam.amazonaws.com/
- eks.amazonaws.com/
- iam.gke.io/
- iam.cloud.google.com/
- azure.workload.identity/
- pod-identity.alibabacloud.com/
- vault.hashicorp.com/
# Container runtimes and devices.
- io.kubernetes.cri
- io.containerd.
- io.katacontainers.
- dev.gvisor.
- run.oci.
- org.systemd.property.
- cdi.k8s.io/
- blockio.resources.beta.kubernetes.io/
- rdt.resources.beta.kubernetes.io/
# Sidecars with volumes of their own.
- sidecar.istio.io/
# Pods of the kubelet itself.
- kubernetes.io/config.
{{- end -}}

{{/* Prefixes of label keys that give a Pod a role of a cloud. */}}
{{- define "sandlot.policies.deniedLabels" -}}
- azure.workload.identity/
- aadpodidbinding
{{- end -}}

{{/* Rules on the metadata of a Pod, for the maps `variables.podLabels` and `variables.podAnnotations`. */}}
{{- define "sandlot.policies.metadataRules" -}}
{{- $pods := .Values.policies.pods -}}
{{- $annotations := concat (include "sandlot.policies.deniedAnnotations" . | fromYamlArray) $pods.deniedAnnotations -}}
{{- $labels := concat (include "sandlot.policies.deniedLabels" . | fromYamlArray) $pods.deniedLabels -}}
- rule: metadata
  says: A sandbox may not have annotations that give it networks, roles, devices or settings of the container runtime. Remove them
  holds: variables.podAnnotations.all(k, !k.matches({{ include "sandlot.policies.prefixes" $annotations }}))
- rule: metadata
  says: A sandbox may not be Unconfined. Remove the annotation container.apparmor.security.beta.kubernetes.io
  holds: >-
    variables.podAnnotations.all(k, !k.startsWith('container.apparmor.security.beta.kubernetes.io/')
    || variables.podAnnotations[k].matches('^(runtime/default$|localhost/)'))
- rule: metadata
  says: A sandbox may not have labels that give it a role or select policies of the operator. Remove them
  holds: variables.podLabels.all(k, !k.matches({{ include "sandlot.policies.prefixes" $labels }}))
- rule: metadata
  says: A sandbox in a namespace of the platform may not have labels by which the platform's own Pods are selected. Remove app and app.kubernetes.io labels
  holds: >-
    !(request.namespace in {{ include "sandlot.policies.list" (list .Release.Namespace "agent-sandbox-system" | uniq) }})
    || variables.podLabels.all(k, k != 'app' && !k.startsWith('app.kubernetes.io/'))
{{- end -}}

{{/*
Rules about what a Pod reaches inside its namespace. They bind only authors who could not reach it themselves: they may not
create Pods there, or not read the snapshot.
*/}}
{{- define "sandlot.policies.authorRules" -}}
- rule: accounts
  says: Your rights do not include creating Pods in this namespace, so a sandbox of yours may only run as the ServiceAccounts default and those in policies.pods.serviceAccounts. Remove serviceAccountName
  holds: >-
    [variables.pod.?serviceAccountName.orValue(''), variables.pod.?serviceAccount.orValue('')].all(n, n in
    {{ include "sandlot.policies.list" (concat (list "" "default") .Values.policies.pods.serviceAccounts) }})
    || variables.isTrusted
- rule: accounts
  says: Your rights do not include creating Pods in this namespace, so a Sandbox of yours may not have the token of a ServiceAccount. Set automountServiceAccountToken to false
  holds: >-
    object.kind == 'SandboxTemplate' || !variables.pod.?automountServiceAccountToken.orValue(true) || variables.isTrusted
- rule: references
  says: Your rights do not include creating Pods in this namespace, so a sandbox of yours may not mount its Secrets and PersistentVolumeClaims. Remove these volumes
  holds: >-
    variables.volumes.all(v, !has(v.secret) && !has(v.persistentVolumeClaim) && !v.?csi.?nodePublishSecretRef.hasValue()
    && v.?projected.?sources.orValue([]).all(s, !has(s.secret))) || variables.isTrusted
- rule: references
  says: Your rights do not include creating Pods in this namespace, so a sandbox of yours may not have variables from its Secrets. Remove secretKeyRef and secretRef
  holds: >-
    variables.containers.all(c, c.?env.orValue([]).all(e, !e.?valueFrom.?secretKeyRef.hasValue())
    && c.?envFrom.orValue([]).all(e, !has(e.secretRef))) || variables.isTrusted
- rule: references
  says: Your rights do not include reading the SandboxSnapshot in restoreFrom, so a sandbox of yours may not start from its memory. Remove restoreFrom, or ask for the right to get it
  holds: >-
    !object.spec.?restoreFrom.hasValue() || {{ include "sandlot.policies.isController" . }}
    || authorizer.group('sandlot.dev').resource('sandboxsnapshots').namespace(request.namespace)
    .name(object.spec.restoreFrom.snapshotName).check('get').allowed()
{{- end -}}

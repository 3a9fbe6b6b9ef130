import { mkdir } from 'node:fs/promises';
import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { formatComponentKubeconfig } from '../cluster/control-plane.ts';

const provisioner = 'sandlot.dev/volumes';

/** The volume provisioner as a process on the machine. Every PersistentVolume is a folder under `.sandlot`. */
export async function buildStorageComponent({ paths, bin }: ClusterContext): Promise<Component> {
  await mkdir(paths.volumes, { recursive: true });
  return {
    name: 'volumes',
    cwd: '/',
    argv: [bin('volumes'), formatComponentKubeconfig(paths, 'storage'), provisioner, paths.volumes],
    probe: { kind: 'alive' },
  };
}

/** The default StorageClass and the permissions of its provisioner. */
export function buildStorageManifests(): object[] {
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  return [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'WaitForFirstConsumer',
    },
    {
      ...rbac,
      kind: 'ClusterRole',
      metadata: { name: 'sandlot:storage' },
      rules: [
        { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
        {
          apiGroups: [''],
          resources: ['persistentvolumes'],
          verbs: ['get', 'list', 'watch', 'create', 'delete', 'update', 'patch'],
        },
        { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'update', 'patch'] },
        { apiGroups: [''], resources: ['events'], verbs: ['create', 'update', 'patch', 'list', 'watch'] },
        { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['get', 'list', 'watch'] },
      ],
    },
    {
      ...rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'sandlot:storage' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sandlot:storage' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'sandlot:storage' }],
    },
  ];
}

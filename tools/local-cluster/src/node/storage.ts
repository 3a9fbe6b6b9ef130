import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { componentKubeconfig } from '../cluster/control-plane.ts';
import { volumeHelperImage } from './base-images.ts';

const provisioner = 'rancher.io/local-path';
const configMap = 'local-path-config';

/** local-path-provisioner as a process of the machine: every PersistentVolume is a folder under `.sandlot`. */
export async function storageComponent({ paths, bin }: ClusterContext): Promise<Component> {
  await mkdir(paths.volumes, { recursive: true });
  const configuration = JSON.stringify({
    nodePathMap: [{ node: 'DEFAULT_PATH_FOR_NON_LISTED_NODES', paths: [paths.volumes] }],
  });
  const file = join(paths.state, 'local-path.json');
  await writeFile(file, configuration);
  return {
    name: 'local-path-provisioner',
    cwd: '/',
    argv: [
      bin('local-path-provisioner'),
      'start',
      ...['--config', file, '--kubeconfig', componentKubeconfig(paths, 'storage')],
      ...['--provisioner-name', provisioner, '--namespace', 'kube-system', '--configmap-name', configMap],
      ...['--helper-image', volumeHelperImage, '--service-account-name', 'default'],
      ...['--worker-threads', '16', '--provisioning-retry-count', '30'],
    ],
    configuration,
    probe: { kind: 'alive' },
  };
}

/** The default StorageClass, the provisioner's helper pod and scripts, and what it may do. */
export function storageManifests(): object[] {
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
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: configMap, namespace: 'kube-system' },
      data: {
        setup: '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n',
        teardown: '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n',
        'helperPod.yaml': JSON.stringify(helperPod()),
      },
    },
    {
      ...rbac,
      kind: 'ClusterRole',
      metadata: { name: 'sandlot:storage' },
      rules: [
        { apiGroups: [''], resources: ['nodes', 'configmaps'], verbs: ['get', 'list', 'watch'] },
        {
          apiGroups: [''],
          resources: ['persistentvolumeclaims'],
          verbs: ['get', 'list', 'watch', 'update', 'patch'],
        },
        { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['*'] },
        { apiGroups: [''], resources: ['pods', 'pods/log', 'events', 'endpoints'], verbs: ['*'] },
        { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] },
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

function helperPod(): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'helper-pod' },
    spec: {
      priorityClassName: 'system-node-critical',
      tolerations: [{ operator: 'Exists' }],
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'helper-pod', image: volumeHelperImage, imagePullPolicy: 'IfNotPresent' }],
    },
  };
}

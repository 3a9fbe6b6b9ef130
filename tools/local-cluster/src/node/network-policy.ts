import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { formatComponentKubeconfig } from '../cluster/control-plane.ts';
import { machinePaths } from '../cluster/paths.ts';
import { bridgeName, getNodeAddress, formatPodCidr } from './network.ts';

/** The nftables table with the rules derived from NetworkPolicies: `<family> <name>`. */
export const policyTable = 'ip sandlot-policy';

const distributionPlugins = '/usr/lib/cni';
const user = 'sandlot:network-policy';

/**
 * The program that enforces NetworkPolicies. Start it before the kubelet, because a pod starts only once its rules are in
 * place. When it ends, the rules stay in the kernel unchanged and no new pod starts.
 */
export async function buildNetworkPolicyComponent({ paths, choices, bin }: ClusterContext): Promise<Component> {
  const program = bin('network-policy');
  await linkPlugins(program);
  await mkdir(dirname(machinePaths.policySocket), { recursive: true });
  return {
    name: 'network-policy',
    cwd: '/',
    argv: [
      program,
      'serve',
      formatComponentKubeconfig(paths, 'network-policy'),
      machinePaths.policySocket,
      formatPodCidr(choices.podNetwork),
      bridgeName,
      `${getNodeAddress(choices.podNetwork)}:${choices.ports.dns}`,
    ],
    probe: { kind: 'command', argv: [program, 'ready', machinePaths.policySocket] },
  };
}

/** Links the distribution's CNI plugins and ours into the one folder that containerd searches. */
async function linkPlugins(program: string): Promise<void> {
  await mkdir(machinePaths.cniPlugins, { recursive: true });
  const targets = (await readdir(distributionPlugins)).map((name): [string, string] => [
    name,
    join(distributionPlugins, name),
  ]);
  for (const [name, target] of [...targets, ['sandlot-policy', program] as const]) {
    const link = join(machinePaths.cniPlugins, name);
    await rm(link, { force: true });
    await symlink(target, link);
  }
}

/** Read permissions of the enforcer. */
export function buildNetworkPolicyManifests(): object[] {
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  const verbs = ['list', 'watch'];
  return [
    {
      ...rbac,
      kind: 'ClusterRole',
      metadata: { name: user },
      rules: [
        { apiGroups: [''], resources: ['pods', 'namespaces'], verbs },
        { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs },
      ],
    },
    {
      ...rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: user },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    },
  ];
}

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { formatComponentKubeconfig } from '../cluster/control-plane.ts';
import { getNodeAddress } from './network.ts';

/** ClusterIP of the DNS service. */
export const dnsServiceIp = '10.96.0.10';

/** Suffix of every Service name. */
export const clusterDomain = 'cluster.local';

/** Questions for names below it are in the log of CoreDNS: tests read there which of them left a sandbox. */
export const loggedDomain = 'asked.example';

/** CoreDNS as a process on the machine. Pods reach it through the Service in `buildDnsManifests`. */
export async function buildDnsComponent({ paths, choices, bin }: ClusterContext): Promise<Component> {
  const { dns, dnsReady } = choices.ports;
  const configuration = formatCorefile({
    address: getNodeAddress(choices.podNetwork),
    port: dns,
    readyPort: dnsReady,
    hosts: paths.hosts,
    kubeconfig: formatComponentKubeconfig(paths, 'dns'),
    hasUpstream: /^\s*nameserver\s/m.test(await readFile('/etc/resolv.conf', 'utf8').catch(() => '')),
  });
  // The plugin warns about a file that is not there.
  await writeFile(paths.hosts, '', { flag: 'a' });
  const file = join(paths.state, 'Corefile');
  await writeFile(file, configuration);
  return {
    name: 'coredns',
    cwd: '/',
    argv: [bin('coredns'), '-conf', file],
    configuration,
    probe: { kind: 'http', url: `http://127.0.0.1:${dnsReady}/ready` },
  };
}

function formatCorefile(options: {
  address: string;
  port: number;
  readyPort: number;
  hosts: string;
  kubeconfig: string;
  hasUpstream: boolean;
}): string {
  return `.:${options.port} {
  bind ${options.address}
  errors
  log ${loggedDomain}
  ready 127.0.0.1:${options.readyPort}
  hosts ${options.hosts} {
    reload 1s
    ttl 1
    no_reverse
    fallthrough
  }
  kubernetes ${clusterDomain} in-addr.arpa ip6.arpa {
    kubeconfig ${options.kubeconfig}
    ttl 5
    fallthrough in-addr.arpa ip6.arpa
  }
${options.hasUpstream ? '  forward . /etc/resolv.conf\n' : ''}  cache 30 {
    disable success ${clusterDomain}
    disable denial ${clusterDomain}
  }
}
`;
}

/** The Service kube-dns without a selector, its EndpointSlice, and CoreDNS's read permissions. */
export function buildDnsManifests(podNetwork: string, port: number): object[] {
  const metadata = { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } };
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        clusterIP: dnsServiceIp,
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP', targetPort: port },
          { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: port },
        ],
      },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'kube-dns' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [getNodeAddress(podNetwork)], conditions: { ready: true } }],
      ports: [
        { name: 'dns', port, protocol: 'UDP' },
        { name: 'dns-tcp', port, protocol: 'TCP' },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'sandlot:dns' },
      rules: [
        { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'sandlot:dns' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sandlot:dns' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'sandlot:dns' }],
    },
  ];
}

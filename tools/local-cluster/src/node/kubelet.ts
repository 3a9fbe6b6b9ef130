import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { formatComponentKubeconfig } from '../cluster/control-plane.ts';
import { machinePaths } from '../cluster/paths.ts';
import { ensurePodGroup } from './cgroups.ts';
import { clusterDomain, dnsServiceIp } from './dns.ts';
import { formatPodCidr } from './network.ts';
import type { NodePlace } from './place.ts';

/** The kubelet of a node. */
export async function buildKubeletComponent(context: ClusterContext, place: NodePlace): Promise<Component> {
  const { paths, bin } = context;
  await ensurePodGroup(place.cgroup);
  await mkdir(join(place.lib, basename(machinePaths.kubelet)), { recursive: true, mode: 0o700 });
  const resolvConf = join(paths.state, 'resolv.conf');
  await writeFile(resolvConf, formatPodResolvConf(await readFile('/etc/resolv.conf', 'utf8').catch(() => '')));
  const configuration = JSON.stringify(buildKubeletConfig(context, place, resolvConf), undefined, 2);
  const file = join(paths.state, `kubelet${place.suffix}.json`);
  await writeFile(file, configuration);
  return {
    name: `kubelet${place.suffix}`,
    cwd: '/',
    argv: [
      ...place.enter,
      bin('kube'),
      'kubelet',
      `--config=${file}`,
      `--kubeconfig=${formatComponentKubeconfig(paths, `kubelet${place.suffix}`)}`,
      `--root-dir=${machinePaths.kubelet}`,
      `--hostname-override=${place.name}`,
      `--node-ip=${place.address}`,
    ],
    env: place.env,
    configuration,
    probe: { kind: 'http', url: `http://127.0.0.1:${place.ports.kubeletHealth}/healthz` },
  };
}

/** Keeps only the machine's resolvers that a pod can reach: loopback resolvers are outside its network namespace. */
export function formatPodResolvConf(machines: string): string {
  return machines
    .split('\n')
    .filter((line) => /^\s*nameserver\s/.test(line) && !/\s(127\.|::1)/.test(line))
    .concat('')
    .join('\n');
}

function buildKubeletConfig({ paths, choices }: ClusterContext, place: NodePlace, resolvConf: string): object {
  const pki = (file: string) => join(paths.pki, file);
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: place.address,
    port: place.ports.kubelet,
    readOnlyPort: 0,
    healthzBindAddress: '127.0.0.1',
    healthzPort: place.ports.kubeletHealth,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: pki('ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: pki(`kubelet${place.suffix}.crt`),
    tlsPrivateKeyFile: pki(`kubelet${place.suffix}.key`),
    containerRuntimeEndpoint: `unix://${machinePaths.containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${place.cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    // kube-proxy's nftables mode does not need the kubelet's iptables chains, and they would outlive the node.
    makeIPTablesUtilChains: false,
    clusterDNS: [dnsServiceIp],
    clusterDomain,
    resolvConf,
    podCIDR: formatPodCidr(choices.podNetwork),
    podLogsDir: place.podLogs,
    volumePluginDir: join(machinePaths.kubelet, 'volume-plugins'),
    maxPods: 300,
    serializeImagePulls: false,
    registryPullQPS: 0,
    // With 0 the kubelet's client falls back to 5 Events a second, and reports starts many seconds late.
    eventRecordQPS: 1000,
    eventBurst: 2000,
    kubeAPIQPS: 1000,
    kubeAPIBurst: 2000,
    // A developer's machine is often nearly full, so evict only at the very end.
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '1%',
      'imagefs.available': '1%',
    },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  };
}

import { join } from 'node:path';

/** Where a checkout's cluster keeps what it needs; `npm run down` removes all of it. */
export interface ClusterPaths {
  root: string;
  /** `<root>/.sandlot`. */
  state: string;
  kubeconfig: string;
  /** Ports and other choices that must stay the same while the cluster exists. */
  choices: string;
  logs: string;
  run: string;
  /** Working folder of etcd and kube-apiserver, with etcd's data in it. */
  controlPlane: string;
  pki: string;
  registry: string;
  volumes: string;
  containerd: string;
  auditLog: string;
}

/** The paths of the checkout at `root`. */
export function clusterPaths(root: string): ClusterPaths {
  const state = join(root, '.sandlot');
  const data = join(state, 'data');
  return {
    root,
    state,
    kubeconfig: join(state, 'kubeconfig'),
    choices: join(state, 'cluster.json'),
    logs: join(state, 'logs'),
    run: join(state, 'run'),
    controlPlane: join(data, 'control-plane'),
    pki: join(data, 'pki'),
    registry: join(data, 'registry'),
    volumes: join(data, 'volumes'),
    containerd: join(data, 'containerd'),
    auditLog: join(state, 'logs', 'audit.log'),
  };
}

/** Machine-wide and short, because sockets live here: a machine has one node. */
export const machinePaths = {
  run: '/run/sandlot',
  owner: '/run/sandlot/owner.json',
  original: '/run/sandlot/original.json',
  containerdSocket: '/run/sandlot/containerd.sock',
  containerdState: '/run/sandlot/containerd',
  /** What gVisor's programs keep about the pods they run. */
  gvisorState: '/run/sandlot/gvisor',
  cniConfig: '/run/sandlot/cni',
  cniState: '/run/sandlot/cni-state',
  cniPlugins: '/run/sandlot/cni-plugins',
  policySocket: '/run/sandlot/policy.sock',
  registryHosts: '/run/sandlot/registry-hosts',
  /** On disk: the kubelet keeps emptyDir volumes here. */
  lib: '/var/lib/sandlot',
  kubelet: '/var/lib/sandlot/kubelet',
  lock: '/run/lock/sandlot-cluster.lock',
} as const;

/** Held while a cluster is made or removed: by root for the whole machine, otherwise for the checkout. */
export function lockPath(paths: ClusterPaths): string {
  return process.getuid?.() === 0 ? machinePaths.lock : join(paths.state, 'lock');
}

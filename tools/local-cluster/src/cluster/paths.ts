import { join } from 'node:path';

/** Files and folders of a checkout's cluster. `npm run down` removes all of them. */
export interface ClusterPaths {
  root: string;
  /** `<root>/.sandlot`. */
  state: string;
  kubeconfig: string;
  /** Ports and other choices that must stay the same while the cluster exists. */
  choices: string;
  /** Names that the cluster's DNS answers beside those of Services, in the form of /etc/hosts. It is read again within a second. */
  hosts: string;
  /** Folder of an authority that the egress proxy accepts beside the public ones, for servers on this machine. */
  upstreams: string;
  logs: string;
  run: string;
  /** Working folder of etcd and kube-apiserver. Holds etcd's data. */
  controlPlane: string;
  pki: string;
  registry: string;
  volumes: string;
  containerd: string;
  /** A folder for every added node. */
  addedNodes: string;
  auditLog: string;
}

/** Returns the paths of the checkout at `root`. */
export function getClusterPaths(root: string): ClusterPaths {
  const state = join(root, '.sandlot');
  const data = join(state, 'data');
  return {
    root,
    state,
    kubeconfig: join(state, 'kubeconfig'),
    choices: join(state, 'cluster.json'),
    hosts: join(state, 'hosts'),
    upstreams: join(state, 'upstreams'),
    logs: join(state, 'logs'),
    run: join(state, 'run'),
    controlPlane: join(data, 'control-plane'),
    pki: join(data, 'pki'),
    registry: join(data, 'registry'),
    volumes: join(data, 'volumes'),
    containerd: join(data, 'containerd'),
    addedNodes: join(data, 'nodes'),
    auditLog: join(state, 'logs', 'audit.log'),
  };
}

/** Paths of the real node. They are machine-wide, as a machine has one node, and short, as socket paths are limited. */
export const machinePaths = {
  run: '/run/sandlot',
  owner: '/run/sandlot/owner.json',
  original: '/run/sandlot/original.json',
  containerdSocket: '/run/sandlot/containerd.sock',
  containerdState: '/run/sandlot/containerd',
  /** State that gVisor's programs keep about their pods. */
  gvisorState: '/run/sandlot/gvisor',
  /** A link to gVisor's program. */
  runsc: '/run/sandlot/runsc',
  cniConfig: '/run/sandlot/cni',
  cniState: '/run/sandlot/cni-state',
  cniPlugins: '/run/sandlot/cni-plugins',
  /** In a folder of its own, which all nodes of the machine share. */
  policySocket: '/run/sandlot/policy/socket',
  registryHosts: '/run/sandlot/registry-hosts',
  /** On disk, because the kubelet keeps emptyDir volumes here. */
  lib: '/var/lib/sandlot',
  kubelet: '/var/lib/sandlot/kubelet',
  /** Each has a folder for every added node. */
  addedRun: '/run/sandlot/nodes',
  addedLib: '/var/lib/sandlot/nodes',
  lock: '/run/lock/sandlot-cluster.lock',
} as const;

/** Returns the lock to hold while a cluster is created or removed: the machine's for root, otherwise the checkout's. */
export function lockPath(paths: ClusterPaths): string {
  return process.getuid?.() === 0 ? machinePaths.lock : join(paths.state, 'lock');
}

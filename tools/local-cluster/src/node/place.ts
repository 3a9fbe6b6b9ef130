import { join } from 'node:path';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { machinePaths } from '../cluster/paths.ts';
import { podGroup } from './cgroups.ts';
import type { AddressRange } from './network.ts';
import { getNodeAddress, getPodRange } from './network.ts';

/** The first node's name in the cluster. */
export const nodeName = 'sandlot';

/** One of the machine's nodes, and where the machine has its things. The node's own programs find them at `machinePaths`. */
export interface NodePlace {
  /** Name in the cluster. */
  name: string;
  /** Address of the kubelet, on the bridge. */
  address: string;
  ports: { kubelet: number; kubeletHealth: number };
  /** From which the node's pods get their addresses. */
  podRange: AddressRange;
  /** The cgroup, in every hierarchy, under which the kubelet puts the node's pods. */
  cgroup: string;
  /** The node's `/run/sandlot` and `/var/lib/sandlot`. */
  run: string;
  lib: string;
  /** containerd's root folder: images and root file systems. */
  containerd: string;
  podLogs: string;
  /** Ends the names of the node's components, certificates and configuration files. Empty for the first node. */
  suffix: string;
  /** Begins the command line of the node's programs: enters its mount namespace. Empty for the first node. */
  enter: readonly string[];
  /** Added to the environment of the node's programs, which those that they start inherit. */
  env: Readonly<Record<string, string>>;
}

/** Returns the place of the first node, which is the machine itself. */
export function getFirstPlace({ paths, choices }: ClusterContext): NodePlace {
  return {
    name: nodeName,
    address: getNodeAddress(choices.podNetwork),
    ports: choices.ports,
    podRange: getPodRange(choices.podNetwork),
    cgroup: podGroup,
    run: machinePaths.run,
    lib: machinePaths.lib,
    containerd: paths.containerd,
    podLogs: join(paths.logs, 'pods'),
    suffix: '',
    enter: [],
    env: {},
  };
}

/** Returns where the machine has a file that the node's programs find at this path below `/run/sandlot`. */
export function findInRun(place: NodePlace, path: string): string {
  return join(place.run, path.slice(machinePaths.run.length));
}

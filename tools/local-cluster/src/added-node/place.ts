import { join } from 'node:path';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { machinePaths } from '../cluster/paths.ts';
import { podGroup } from '../node/cgroups.ts';
import { getNodeAddress, getPodRange } from '../node/network.ts';
import type { NodePlace } from '../node/place.ts';
import { findInRun } from '../node/place.ts';
import type { AddedRecord } from './record.ts';

/** Returns the place of an added node. Its programs cannot start there before they enter its mount namespace. */
export function getAddedPlace(
  { paths, choices }: Pick<ClusterContext, 'paths' | 'choices'>,
  record: AddedRecord,
): NodePlace {
  const { name, index, ports } = record;
  return {
    name,
    ports,
    address: getNodeAddress(choices.podNetwork, index),
    podRange: getPodRange(choices.podNetwork, index),
    cgroup: `${podGroup}/nodes/${name}`,
    run: join(machinePaths.addedRun, name, 'run'),
    lib: join(machinePaths.addedLib, name, 'lib'),
    containerd: join(paths.addedNodes, name, 'containerd'),
    podLogs: join(paths.logs, `pods-${name}`),
    suffix: `-${name}`,
    enter: [],
    env: { SANDLOT_LOCAL_NODE: name },
  };
}

/** The folders of the machine that mean another folder to the node's programs: `[what they see, where the machine has it]`. */
export function listOwnFolders(place: NodePlace): readonly (readonly [string, string])[] {
  const { name, run, lib } = place;
  const onDisk = (folder: string): string => join(machinePaths.addedLib, name, folder);
  return [
    // The kubelet's sockets for device plugins, whatever its own folder.
    ['/var/lib/kubelet', onDisk('var-lib-kubelet')],
    ['/var/lib/cni', onDisk('var-lib-cni')],
    ['/var/log/containers', onDisk('var-log-containers')],
    // Sockets of shims, and runc's state.
    ['/run/containerd', join(machinePaths.addedRun, name, 'run-containerd')],
    // On disk, because a restarted node must not give the address of a dead pod to another one at once: neighbours still have
    // its link. containerd returns the addresses of dead pods.
    [findInRun(place, machinePaths.cniState), onDisk('cni-state')],
    // Last, because they hide the folders above.
    [machinePaths.lib, lib],
    [machinePaths.run, run],
  ];
}

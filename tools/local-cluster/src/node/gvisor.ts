import { readFileSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { machinePaths } from '../cluster/paths.ts';

/** containerd's name for gVisor, which the RuntimeClass refers to. */
export const gvisorHandler = 'runsc';

/**
 * The RuntimeClass for pods inside gVisor. The overhead is roughly gVisor's own memory for an idle pod with one container.
 * The kubelet adds it to the pod's limits.
 */
export const gvisorClass = {
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name: 'gvisor' },
  handler: gvisorHandler,
  overhead: { podFixed: { memory: '64Mi' } },
};

/**
 * Annotations of a Pod that containerd passes on to the shim: which SandboxSnapshot it is started from. Nothing of
 * `dev.gvisor.*`: some of these name files of the node that gVisor reads or writes as root.
 */
export const gvisorPodAnnotations = ['sandlot.dev/restore-snapshot'];

/** Where the chart's node component finds and puts things on this node, as its values name them. */
export const gvisorPlaces = {
  runsc: machinePaths.runsc,
  runscRoot: `${machinePaths.gvisorState}/k8s.io`,
  socketFolder: machinePaths.run,
} as const;

/** Names the build of gVisor that Pods of the first node start with: another build has another name. */
export async function readGvisorBuild(): Promise<string> {
  return basename(dirname(await readlink(machinePaths.runsc))).slice(0, 12);
}

/** What the installer of the product writes on the nodes of its users. */
const shimConfig = readFileSync(
  join(import.meta.dirname, '../../../../node/internal/installer/runsc.toml.tmpl'),
  'utf8',
);

/**
 * Configuration that gVisor's shim reads whenever a pod starts. The keys of the last table are flags of runsc. We do not
 * set `ignore-cgroups`: the kubelet needs cgroups anyway, and no limit would hold without them. A Pod that is started from a
 * snapshot always differs from the saved one, in the path of its cgroup: gVisor only warns of it. One whose memory cannot
 * be restored boots with its files (`allow-rootfs-tar-annotation`). Programs such as sudo need `allow-suid`.
 */
export function formatGvisorShimConfig({ runsc }: { runsc: string }): string {
  const values = new Map([
    ['RUNSC', JSON.stringify(runsc)],
    ['ROOT', JSON.stringify(machinePaths.gvisorState)],
  ]);
  return shimConfig.replaceAll(/RUNSC|ROOT/g, (name) => values.get(name) ?? name);
}

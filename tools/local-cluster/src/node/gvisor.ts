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
 * Configuration that gVisor's shim reads whenever a pod starts. The keys of the last table are flags of runsc. We do not
 * set `ignore-cgroups`: the kubelet needs cgroups anyway, and no limit would hold without them.
 */
export function formatGvisorShimConfig(options: { runsc: string }): string {
  return `binary_name = ${JSON.stringify(options.runsc)}
root = ${JSON.stringify(machinePaths.gvisorState)}

[runsc_config]
platform = "systrap"
`;
}

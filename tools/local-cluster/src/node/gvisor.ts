import { machinePaths } from '../cluster/paths.ts';

/** The name under which containerd knows gVisor, and a RuntimeClass asks for it. */
export const gvisorHandler = 'runsc';

/**
 * The class whose pods run inside gVisor. Its overhead is about what gVisor takes for an idle pod of one container
 * beside the container's own memory: the kubelet adds it to the pod's limits.
 */
export const gvisorClass = {
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name: 'gvisor' },
  handler: gvisorHandler,
  overhead: { podFixed: { memory: '64Mi' } },
};

/**
 * What gVisor's shim reads whenever a pod starts. The keys of the last table are flags of runsc. gVisor could do without
 * cgroups (`ignore-cgroups`), but then no limit would hold, and where the kubelet runs there are some.
 */
export function gvisorShimConfig(options: { runsc: string }): string {
  return `binary_name = ${JSON.stringify(options.runsc)}
root = ${JSON.stringify(machinePaths.gvisorState)}

[runsc_config]
platform = "systrap"
`;
}

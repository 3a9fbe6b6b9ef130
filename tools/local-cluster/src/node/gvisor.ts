import { machinePaths } from '../cluster/paths.ts';

/** The name under which containerd knows gVisor, and a RuntimeClass asks for it. */
export const handler = 'runsc';

/** The class whose pods run inside gVisor. */
export const runtimeClass = {
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name: 'gvisor' },
  handler,
};

/** What gVisor's shim reads whenever a pod starts. The keys of its last table are flags of runsc. */
export function gvisorShimConfig(options: { runsc: string }): string {
  return `binary_name = ${JSON.stringify(options.runsc)}
root = ${JSON.stringify(machinePaths.gvisorState)}

[runsc_config]
platform = "systrap"
`;
}

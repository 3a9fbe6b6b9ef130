/** Condition types of a SandboxSnapshot. */
export const snapshotConditions = { ready: 'Ready' } as const;

/** Reasons of the condition Ready of a SandboxSnapshot (docs/reference/sandbox-snapshot.md#conditions). */
export const snapshotReasons = {
  saved: 'Saved',
  pending: 'Pending',
  saving: 'Saving',
  sandboxNotFound: 'SandboxNotFound',
  sandboxNotRunning: 'SandboxNotRunning',
  notSuspended: 'NotSuspended',
  noSnapshotClass: 'NoSnapshotClass',
  noNodeAgent: 'NoNodeAgent',
  nodeBusy: 'NodeBusy',
  noSpace: 'NoSpace',
  notGVisor: 'NotGVisor',
  saveFailed: 'SaveFailed',
  dataLost: 'DataLost',
} as const;

export type SnapshotReason = (typeof snapshotReasons)[keyof typeof snapshotReasons];

/** Messages of the condition Ready of a SandboxSnapshot. */
export const snapshotMessages = {
  saved: 'Sandbox is saved',
  pending: 'The save has not begun',
  saving: (pod: string, node: string) => `Node ${node} saves Pod ${pod}`,
  sandboxNotFound: (sandbox: string) => `There is no Sandbox "${sandbox}" in this namespace. Correct spec.sandboxName`,
  sandboxNotRunning: (sandbox: string) =>
    `Sandbox "${sandbox}" has no Pod that runs, so there is no memory to save. Resume the Sandbox first`,
  podReplaced: (sandbox: string) =>
    `The Pod of Sandbox "${sandbox}" ended before it was saved. Make another SandboxSnapshot`,
  notSuspended: (sandbox: string) =>
    `Sandbox "${sandbox}" is not about to hibernate. whenSaved StayPaused needs a Sandbox that is suspended and whose suspensionStrategy is Hibernate`,
  noSnapshotClass: (name: string) =>
    `There is no SandboxSnapshotClass "${name}". Create it, or name another one in a new SandboxSnapshot`,
  noDefaultClass:
    'There is no default SandboxSnapshotClass. Annotate one with sandlot.dev/is-default-class: "true", or name one in a new SandboxSnapshot',
  noNodeAgent: (node: string, detail: string) =>
    `The agent of node ${node} does not answer (${detail}). Look at the Pod with the label app.kubernetes.io/component=node on that node`,
  nodeGone: (node: string) => `Node ${node}, which had the data, is gone. The memory cannot be restored`,
  dataAbsent: (node: string) => `Node ${node} no longer has the data. The memory cannot be restored`,
} as const;

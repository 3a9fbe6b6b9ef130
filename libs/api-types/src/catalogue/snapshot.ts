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
  snapshotNotFound: 'SnapshotNotFound',
  snapshotNotReady: 'SnapshotNotReady',
  snapshotNotShared: 'SnapshotNotShared',
  templateMismatch: 'TemplateMismatch',
  disksNotSupported: 'DisksNotSupported',
  disksFailed: 'DisksFailed',
  disksRefused: 'DisksRefused',
  notAStart: 'NotAStart',
  templateExists: 'TemplateExists',
  templateRefused: 'TemplateRefused',
  quotaExceeded: 'QuotaExceeded',
} as const;

export type SnapshotReason = (typeof snapshotReasons)[keyof typeof snapshotReasons];

/** Messages of the condition Ready of a SandboxSnapshot. */
export const snapshotMessages = {
  saved: 'Sandbox is saved',
  pending: 'The save has not begun',
  waitsForTurn: (name: string) =>
    `Waits for another save in this namespace: the class "${name}" has a quota of bytes, so one goes after the other`,
  saving: (pod: string, node: string) => `Node ${node} saves Pod ${pod}`,
  copying: (name: string, node: string) => `Node ${node} copies SandboxSnapshot "${name}"`,
  sandboxNotFound: (sandbox: string) => `There is no Sandbox "${sandbox}" in this namespace. Correct spec.sandboxName`,
  sandboxNotRunning: (sandbox: string) =>
    `Sandbox "${sandbox}" has no Pod that runs, so there is no memory to save. Resume the Sandbox first`,
  podReplaced: (sandbox: string) =>
    `The Pod of Sandbox "${sandbox}" ended before it was saved. Make another SandboxSnapshot`,
  notSuspended: (sandbox: string) =>
    `Sandbox "${sandbox}" is not about to hibernate. whenSaved StayPaused needs a Sandbox whose suspensionStrategy is Hibernate, and that is suspended or runs on a node that is being emptied`,
  noSnapshotClass: (name: string) =>
    `There is no SandboxSnapshotClass "${name}". Create it, or name another one in a new SandboxSnapshot`,
  noDefaultClass:
    'There is no default SandboxSnapshotClass. Annotate one with sandlot.dev/is-default-class: "true", or name one in a new SandboxSnapshot',
  noNodeAgent: (node: string, detail: string) =>
    `The agent of node ${node} does not answer (${detail}). Look at the Pod with the label app.kubernetes.io/component=node on that node`,
  nodeGone: (node: string) => `Node ${node}, which had the data, is gone. The memory cannot be restored`,
  restoreNodeGone: (node: string) =>
    `Node ${node}, on which it was being restored, is gone, and the Pod may have begun there`,
  remoteAbsent: 'The bucket no longer has the data. The memory cannot be restored',
  noPlace: (machine: string) =>
    `No node can restore it: none has what the memory needs (${machine}). Was gVisor upgraded on all of them?`,
  dataAbsent: (node: string) => `Node ${node} no longer has the data. The memory cannot be restored`,
  snapshotNotFound: (name: string) =>
    `There is no SandboxSnapshot "${name}" in this namespace, or it is being deleted. Name another one in restoreFrom of a new Sandbox`,
  snapshotNotReady: (name: string) => `SandboxSnapshot "${name}" is still being saved`,
  snapshotFailed: (name: string, problem: string) => `SandboxSnapshot "${name}" failed: ${problem}`,
  snapshotNotShared: (name: string) =>
    `SandboxSnapshot "${name}" is a hibernation, which only its own Sandbox may restore. Name a snapshot with whenSaved Resume`,
  templateMismatch: (name: string) =>
    `SandboxSnapshot "${name}" is of a Sandbox with another Pod template. Its processes can only go on in the same containers: use the podTemplate and runtime.inject of its source`,
  disksNotSupported: (sandbox: string) =>
    `Sandbox "${sandbox}" has volumeClaimTemplates, and the content of disks cannot be copied. Use a Sandbox without them, or a SandboxSnapshotClass with disks`,
  disksMissing: (sandbox: string, snapshot: string) =>
    `Sandbox "${sandbox}" has other disks than SandboxSnapshot "${snapshot}". Give its volumeClaimTemplates the names in status.disks`,
  disksFailed: (claim: string, detail: string) =>
    `PersistentVolumeClaim "${claim}", the copy of a disk, was not made in time: ${detail}`,
  diskUnbound: (seconds: number) =>
    `it has no volume after ${seconds} s. The Events about it say why (kubectl get events)`,
  disksRefused: (claim: string, detail: string) =>
    `PersistentVolumeClaim "${claim}", the copy of a disk, cannot be made: ${detail}`,
  diskNotCloned: (storageClass: string, said: string) =>
    `StorageClass "${storageClass}" does not clone it (${said}). Use a StorageClass whose driver clones volumes that are in use, or a Sandbox without disks`,
  diskWithoutClass:
    'the disk has no StorageClass, and only a StorageClass clones volumes. Give its volumeClaimTemplate one, or use a Sandbox without disks',
  diskForeign: 'there is one of this name already, which is not of this snapshot. Delete it',
  diskWithoutSource: (claim: string, sandbox: string) =>
    `PersistentVolumeClaim "${claim}", which it copies, is not a disk of Sandbox "${sandbox}"`,
  notAStart: (name: string) =>
    `No Sandbox whose restoreFrom names SandboxSnapshot "${name}" controls this object. Set spec.restoreFrom of a Sandbox or SandboxTemplate instead`,
  startIsUsed: (sandbox: string) =>
    `Sandbox "${sandbox}" has had its start, and starts from a snapshot once. Create another Sandbox`,
  templateExists: (name: string) =>
    `There is a SandboxTemplate "${name}" already, which is not of this snapshot. Choose another templateName`,
  templateRefused: (name: string, detail: string) =>
    `SandboxTemplate "${name}" cannot be made: ${detail}. Use a Sandbox without that, or a snapshot without templateName and a SandboxTemplate of your own with restoreFrom`,
  tooManySnapshots: (most: number, name: string) =>
    `The namespace has ${most} SandboxSnapshots of the class "${name}" already, as many as its quota allows. Delete one`,
  tooManyBytes: (most: number, name: string) =>
    `The SandboxSnapshots of the class "${name}" in this namespace take all ${most} bytes that its quota allows. Delete one`,
} as const;

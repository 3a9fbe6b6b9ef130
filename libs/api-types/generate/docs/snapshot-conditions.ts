import { snapshotConditions, snapshotMessages, snapshotReasons } from '../../src/index.ts';
import { numberPlaceholders } from './condition-table.ts';
import type { ConditionRow } from './condition-table.ts';

type Row = Omit<ConditionRow, 'condition' | 'status'>;

/** Reasons of Ready False while the save has not ended. */
const waiting: readonly Row[] = [
  {
    reason: snapshotReasons.pending,
    messages: [snapshotMessages.pending, snapshotMessages.waitsForTurn('<class>')],
    when: 'The controller has not asked a node yet.',
  },
  {
    reason: snapshotReasons.saving,
    messages: [snapshotMessages.saving('<Pod>', '<node>'), snapshotMessages.copying('<name>', '<node>')],
    when: 'The agent of the node saves the Pod, or copies the snapshot.',
  },
  {
    reason: snapshotReasons.nodeBusy,
    messages: ['<of the agent>'],
    when: 'The node already saves as many Pods as it may. The controller asks again.',
  },
  {
    reason: snapshotReasons.snapshotNotReady,
    messages: [snapshotMessages.snapshotNotReady('<name>')],
    when: 'The snapshot to copy is not saved yet. The phase is Pending.',
  },
];

/** Reasons of Ready False with the phase Failed. */
const failed: readonly Row[] = [
  {
    reason: snapshotReasons.sandboxNotFound,
    messages: [snapshotMessages.sandboxNotFound('<name>')],
    when: 'The Sandbox does not exist.',
  },
  {
    reason: snapshotReasons.sandboxNotRunning,
    messages: [snapshotMessages.sandboxNotRunning('<name>'), snapshotMessages.podReplaced('<name>')],
    when: 'The Sandbox has no Pod that runs, or the Pod ended before it was saved.',
  },
  {
    reason: snapshotReasons.notSuspended,
    messages: [snapshotMessages.notSuspended('<name>')],
    when: '`whenSaved` is StayPaused, and the Sandbox is not about to hibernate.',
  },
  {
    reason: snapshotReasons.noSnapshotClass,
    messages: [snapshotMessages.noSnapshotClass('<name>'), snapshotMessages.noDefaultClass],
    when: 'The class does not exist, or there is no default one.',
  },
  {
    reason: snapshotReasons.noNodeAgent,
    messages: [snapshotMessages.noNodeAgent('<node>', '<detail>')],
    when: 'The agent of the node did not answer for two minutes.',
  },
  { reason: snapshotReasons.noSpace, messages: ['<of the agent>'], when: 'The disk of the node has no room for it.' },
  {
    reason: snapshotReasons.notGVisor,
    messages: ['<of the agent>'],
    when: 'gVisor on that node does not know the Pod: its RuntimeClass is not one of gVisor.',
  },
  {
    reason: snapshotReasons.saveFailed,
    messages: ['<of the agent>'],
    when: 'The save itself failed.',
  },
  {
    reason: snapshotReasons.templateRefused,
    messages: [snapshotMessages.templateRefused('<name>', '<of the API server>')],
    when: 'The API server refuses the template of the snapshot: the Pod of the Sandbox names a Secret, a ServiceAccount or something else that an admission policy keeps from templates.',
  },
  {
    reason: snapshotReasons.dataLost,
    messages: [
      snapshotMessages.nodeGone('<node>'),
      snapshotMessages.dataAbsent('<node>'),
      snapshotMessages.remoteAbsent,
      snapshotMessages.noPlace('<gVisor, architecture>'),
    ],
    when: 'A saved snapshot has lost its data, or no node has had what it needs for a minute while a Pod waited.',
  },
  {
    reason: snapshotReasons.quotaExceeded,
    messages: [
      numberPlaceholders((most) => snapshotMessages.tooManySnapshots(most, '<class>')),
      numberPlaceholders((most) => snapshotMessages.tooManyBytes(most, '<class>')),
      '<of the agent>',
    ],
    when: 'The [quota](sandbox-snapshot-class.md#quota) of the class does not allow the save.',
  },
  {
    reason: snapshotReasons.templateExists,
    messages: [snapshotMessages.templateExists('<name>')],
    when: '`templateName` names a SandboxTemplate that the snapshot does not own.',
  },
  {
    reason: snapshotReasons.disksNotSupported,
    messages: [snapshotMessages.disksNotSupported('<name>'), snapshotMessages.disksMissing('<name>', '<name>')],
    when: 'The snapshot is a copy or has a `templateName`, and has no copies of the disks of the Sandbox.',
  },
  {
    reason: snapshotReasons.disksRefused,
    messages: [
      snapshotMessages.disksRefused('<name>', snapshotMessages.diskNotCloned('<class>', '<of the provisioner>')),
      snapshotMessages.disksRefused('<name>', snapshotMessages.diskWithoutClass),
      snapshotMessages.disksRefused('<name>', '<of the API server>'),
    ],
    when: 'The disks of the Sandbox cannot be copied: their storage class does not clone, or the API server refuses the copies.',
  },
  {
    reason: snapshotReasons.disksFailed,
    messages: [snapshotMessages.disksFailed('<name>', '<detail>')],
    when: 'The copies of the disks of the Sandbox were not made in time.',
  },
];

/** Reasons of Ready False with the phase Failed, of a copy. */
const refusedCopies: readonly Row[] = [
  {
    reason: snapshotReasons.snapshotNotFound,
    messages: [snapshotMessages.snapshotNotFound('<name>')],
    when: 'The snapshot to copy does not exist, or is being deleted.',
  },
  {
    reason: snapshotReasons.snapshotNotReady,
    messages: [snapshotMessages.snapshotFailed('<name>', '<problem>')],
    when: 'The snapshot to copy has failed.',
  },
  {
    reason: snapshotReasons.snapshotNotShared,
    messages: [snapshotMessages.snapshotNotShared('<name>')],
    when: 'The snapshot to copy is a hibernation.',
  },
  {
    reason: snapshotReasons.templateMismatch,
    messages: [snapshotMessages.templateMismatch('<name>')],
    when: 'The Pod template of the new Sandbox is not that of the saved one.',
  },
  {
    reason: snapshotReasons.notAStart,
    messages: [snapshotMessages.notAStart('<name>'), snapshotMessages.startIsUsed('<name>')],
    when: 'The controller of the copy, by owner reference, is no Sandbox whose `restoreFrom` names the snapshot.',
  },
];

/** The condition of a SandboxSnapshot. */
export const snapshotRows: readonly ConditionRow[] = [
  {
    condition: snapshotConditions.ready,
    status: 'True',
    reason: snapshotReasons.saved,
    messages: [snapshotMessages.saved],
    when: 'The snapshot is complete on its node.',
  },
  ...[...waiting, ...failed, ...refusedCopies].map((row) => ({
    condition: snapshotConditions.ready,
    status: 'False' as const,
    ...row,
  })),
];

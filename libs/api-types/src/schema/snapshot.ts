import { z } from 'zod';
import { conditionList, generation, int32, listKeys, objectName, rules, staysAsItWas, timestamp } from './field.ts';

const retention = z.object({
  failedSeconds: int32(0)
    .default(600)
    .describe('A SandboxSnapshot that failed is deleted this long after it failed, so that its reason can be read.'),
  readySeconds: int32(1)
    .optional()
    .describe('A SandboxSnapshot is deleted this long after it was saved. Unset: it stays until a user deletes it.'),
});

const quota = z.object({
  bytesPerNamespace: z
    .int()
    .min(1)
    .meta({ format: 'int64' })
    .optional()
    .describe('Bytes that all Ready snapshots and hibernations may take together. Copies take none.'),
  snapshotsPerNamespace: int32(0)
    .optional()
    .describe('How many SandboxSnapshots with `whenSaved: Resume` there may be.'),
});

const disks = z.object({
  method: z
    .enum(['Clone'])
    .describe(
      'Clone: each disk becomes a PersistentVolumeClaim whose `dataSource` is the PersistentVolumeClaim of the Sandbox.',
    ),
});

/** `spec` of a SandboxSnapshotClass (docs/reference/sandbox-snapshot-class.md#spec). */
export const sandboxSnapshotClassSpec = z.object({
  store: z
    .enum(['Node', 'Bucket'])
    .default('Node')
    .describe('Where the data is kept: on the node that saved it, or also in the bucket of the installation.'),
  keepFiles: z
    .boolean()
    .default(true)
    .describe(
      'Whether a hibernation also keeps the files of the containers, in a form that every version of gVisor reads.',
    ),
  disks: disks
    .optional()
    .describe(
      'How the disks of a Sandbox are copied. Unset: a Sandbox with `volumeClaimTemplates` cannot be saved for others.',
    ),
  retention: retention.optional().describe('How long snapshots of the class are kept.'),
  quota: quota.optional().describe('What each namespace may keep of the class. See [Quota](#quota).'),
});

const copyOf = z.object({
  snapshotName: objectName.describe('The SandboxSnapshot whose data it has, in the same namespace.'),
});

/** `spec` of a SandboxSnapshot (docs/reference/sandbox-snapshot.md#spec). */
export const sandboxSnapshotSpec = z
  .object({
    sandboxName: objectName.describe('The Sandbox to save, in the same namespace. Cannot be changed.'),
    snapshotClassName: objectName
      .optional()
      .describe('The SandboxSnapshotClass; the default one of the cluster when unset. Cannot be changed.'),
    whenSaved: z
      .enum(['Resume', 'StayPaused'])
      .default('Resume')
      .describe(
        'What the Pod does once it is saved: it goes on, or stands still until it is deleted. Cannot be changed. See [Hibernation](#hibernation).',
      ),
    ttlSeconds: int32(1)
      .optional()
      .describe(
        'Delete the snapshot this long after it was saved. It takes the place of `retention.readySeconds` of the class.',
      ),
    contents: z
      .enum(['Memory', 'Files'])
      .default('Memory')
      .describe(
        'What is saved. Memory: processes, memory and files of the containers. Files: only the files, so that a Sandbox that starts from it boots with them. Cannot be changed.',
      ),
    copyOf: copyOf
      .optional()
      .describe(
        'Copy a snapshot in place of a save. Cannot be changed. See [Start of a Sandbox](#start-of-a-sandbox).',
      ),
    templateName: objectName
      .optional()
      .describe(
        'Name of a SandboxTemplate that the controller makes: its Sandboxes start from the snapshot. Cannot be changed. See [Template of a snapshot](#template-of-a-snapshot).',
      ),
  })
  .meta(
    rules(
      ...(['sandboxName', 'snapshotClassName', 'whenSaved', 'contents', 'copyOf', 'templateName'] as const).map(
        staysAsItWas,
      ),
      {
        rule: "!has(self.copyOf) || self.whenSaved == 'StayPaused'",
        message: 'copyOf requires whenSaved StayPaused',
      },
      {
        rule: "!has(self.templateName) || self.whenSaved == 'Resume'",
        message: 'templateName requires whenSaved Resume',
      },
    ),
  );

const source = z.object({
  sandboxUID: z.string().describe('UID of the Sandbox.'),
  podName: z.string().describe('Name of its Pod.'),
  podUID: z.string().describe('UID of its Pod.'),
  nodeName: z.string().describe('Node of the Pod.'),
});

const restore = z.object({
  podName: z.string().describe('Name of the Pod.'),
  podUID: z.string().describe('UID of the Pod. Memory is restored into one Pod at most.'),
  nodeName: z.string().describe('Node of the Pod.'),
  state: z
    .enum(['Announced', 'Restored', 'Failed', 'Withdrawn'])
    .describe('How far it came. `Withdrawn`: the Pod never began, so another one may take the snapshot.'),
  only: z
    .enum(['files'])
    .optional()
    .describe('Set where the Pod gets the files of the containers without the memory: it boots with them.'),
  message: z.string().optional().describe('Why it failed.'),
  at: timestamp.describe('When it came to this state.'),
});

const remote = z.object({
  state: z
    .enum(['Uploading', 'Uploaded', 'Failed'])
    .describe('How far the upload is. `Failed`: the controller tries again.'),
  digest: z.string().optional().describe('Digest of what the bucket has: a download of anything else is refused.'),
  message: z.string().optional().describe('Why it failed.'),
  at: timestamp.describe('When it came to this state.'),
});

const savedDisk = z.object({
  name: z.string().describe('Name of the volumeClaimTemplate of the Sandbox.'),
  claimName: z.string().describe('PersistentVolumeClaim that has the copy; the SandboxSnapshot owns it.'),
});

/** `status` of a SandboxSnapshot; the snapshot-controller is its only writer. */
export const sandboxSnapshotStatus = z.object({
  observedGeneration: generation.optional().describe('The generation the controller last acted on.'),
  phase: z
    .enum(['Pending', 'Saving', 'Ready', 'Failed'])
    .optional()
    .describe('One word for the state of the snapshot, for people; the condition is for programs.'),
  source: source.optional().describe('What is saved: fixed before the save begins.'),
  savedAt: timestamp.optional().describe('When the save was complete.'),
  sizeBytes: z.int().min(0).meta({ format: 'int64' }).optional().describe('Bytes that the snapshot takes on its node.'),
  size: z.string().optional().describe('The same for people, rounded up, as a quantity such as `210Mi`.'),
  nodeName: z
    .string()
    .optional()
    .describe('Node that has the data. Absent once that node is gone and the bucket has it.'),
  remote: remote.optional().describe('What the bucket has of it. Absent: nothing.'),
  remoteOf: z
    .string()
    .optional()
    .describe('On a copy: UID of the SandboxSnapshot under which the bucket has the data.'),
  hasFiles: z
    .boolean()
    .optional()
    .describe('Whether the files of the containers were kept in a form that every version of gVisor reads.'),
  disks: z.array(savedDisk).meta(listKeys('name')).optional().describe('Copies of the disks of the Sandbox.'),
  fingerprint: z
    .string()
    .max(63)
    .optional()
    .describe('Value of the label `sandlot.dev/snapshot-fingerprint` of the nodes that can restore it.'),
  fingerprintText: z.string().optional().describe('The same for people: version of gVisor, architecture, CPU.'),
  expiresAt: timestamp.optional().describe('When it is deleted, if it is.'),
  restore: restore.optional().describe('The Pod into which it is restored. See [Restore](#restore).'),
  conditions: conditionList.optional().describe('See [Conditions](#conditions).'),
});

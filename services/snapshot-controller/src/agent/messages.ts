// What the agent of a node says, by docs/reference/sandbox-snapshot.md and node/README.md. Unknown fields are ignored.
import { z } from 'zod';

const machine = z.object({
  runscVersion: z.string(),
  architecture: z.string(),
  hash: z.string().max(63),
});

/** A finished snapshot as its node describes it. */
export const manifest = z.object({
  namespace: z.string(),
  snapshotUid: z.string(),
  source: z.object({ sandboxUid: z.string(), podName: z.string().optional(), podUid: z.string() }),
  machine,
  /** `Files`: it has no memory. */
  contents: z.string().optional(),
  hasFiles: z.boolean().optional(),
  bytes: z.int().min(0),
  savedAt: z.iso.datetime({ offset: true }),
});
export type Manifest = z.output<typeof manifest>;

/** A snapshot of the bucket. A download needs the digest, which tells it from anything else that somebody puts there. */
export const uploaded = manifest.extend({ digest: z.string().min(1) });
export type Uploaded = z.output<typeof uploaded>;

export const listAnswer = z.object({ snapshots: z.array(manifest) });

export const nodeAnswer = z.object({ node: z.string(), fingerprint: machine });

export const restoreAnswer = z.object({
  state: z.enum(['Announced', 'Begun', 'Restored', 'Failed']),
  message: z.string().default(''),
});
export type RestoreAnswer = z.output<typeof restoreAnswer>;

export const refusal = z.object({ code: z.string(), message: z.string() });

/** How a restore ended. */
export interface RestoreEnd {
  readonly state: 'Restored' | 'Failed';
  readonly message: string;
}

/** `begun`: too late, the Pod already goes on from the snapshot. */
export type WithdrawEnd = 'withdrawn' | 'begun';

export const holdAnswer = z.object({ held: z.literal(true) });

/** Names one snapshot of a node. */
export interface SnapshotId {
  readonly namespace: string;
  readonly uid: string;
}

export interface SaveRequest {
  readonly source: {
    readonly sandboxName: string;
    readonly sandboxUID: string;
    readonly podName: string;
    readonly podUID: string;
  };
  /** `Hibernate`: the Pod stands still afterwards. */
  readonly mode: 'Hibernate' | 'Snapshot';
  /** The Pod stands still for so long after the save, or until its hold is released. Absent: it goes on. */
  readonly holdSeconds?: number | undefined;
  /** `Files`: only the files of the containers. Absent: everything. */
  readonly contents?: 'Files' | undefined;
  /** Whether to keep the files beside the memory. */
  readonly files?: boolean | undefined;
  /** The agent refuses a save that it expects to take more. Absent: it may take any number. */
  readonly mostBytes?: number | undefined;
}

export interface RestoreRequest {
  readonly podName: string;
  readonly podUID: string;
  /** The Pod boots with the files. */
  readonly only?: 'files' | undefined;
  /** No user waits for the Pod: it is one of a warm pool, and the node restores others first. */
  readonly spare?: true | undefined;
}

/** What the bucket has, for a node that does not have it. */
export interface RemoteData {
  /** UID under which it was uploaded. That of another SandboxSnapshot: the node makes a copy of what it has downloaded. */
  readonly uid: string;
  readonly digest: string;
}

import type { Sandbox, SandboxSnapshot, SandboxSnapshotClass, SandboxTemplate } from '@sandlot/api-types';
import type { PersistentVolumeClaim, Pod } from '@sandlot/kube';
import type { Call } from '../agent/calls.ts';
import type { Manifest, RestoreEnd, Uploaded, WithdrawEnd } from '../agent/messages.ts';

export interface PodLook {
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  /** Absent: it mounts no image with a daemon. */
  readonly daemonImage?: string | undefined;
  /** It mounts a token of its ServiceAccount. */
  readonly hasToken?: boolean | undefined;
}

/** Templates that matter to a snapshot with a `templateName`. */
export interface TemplateLook {
  /** The one of this name. Absent: there is none. */
  readonly named?: SandboxTemplate | undefined;
  /** The one that the Sandbox came from. Absent: it came from none, or that one is gone. */
  readonly origin?: SandboxTemplate | undefined;
}

/** What a save would be of, as the API server says at this moment. */
export interface SourceLook {
  /** Absent: there is no such Sandbox. */
  readonly sandbox?: { readonly uid: string; readonly hibernates: boolean; readonly object: Sandbox } | undefined;
  /** Absent: the Sandbox has no Pod of its own that runs on a node. */
  readonly pod?: PodLook | undefined;
  readonly templates?: TemplateLook | undefined;
}

/** What a copy would be of, and for whom, as the API server says at this moment. */
export interface CopyLook {
  /** The Sandbox that is to start from the copy. Absent: there is no such Sandbox. */
  readonly sandbox?: Sandbox | undefined;
  /** The SandboxSnapshot whose data is copied. Absent: there is none of this name. */
  readonly original?: SandboxSnapshot | undefined;
}

/** One disk in `status.disks` of a snapshot that is being saved or has failed, as the API server says at this moment. */
export interface DiskLook {
  /** Name of the volumeClaimTemplate. */
  readonly name: string;
  readonly claimName: string;
  /** What has the name of the copy. Absent: nothing. */
  readonly copy?: PersistentVolumeClaim | undefined;
  /** What has the name of the disk of the Sandbox, looked up while there is no copy. */
  readonly source?: PersistentVolumeClaim | undefined;
  /** Why the provisioner makes no volume for the copy, in its words; looked up once that takes long. */
  readonly said?: string | undefined;
}

/** The last call of each kind to the agent, for one SandboxSnapshot. Absent: none by this process. */
export interface Calls {
  /** Of a copy: the call that copies. */
  readonly save?: Call<Manifest> | undefined;
  /** Of the Pod in `status.restore`. */
  readonly restore?: Call<RestoreEnd> | undefined;
  readonly withdraw?: Call<WithdrawEnd> | undefined;
  /** On the node of the save. */
  readonly erase?: Call<'erased'> | undefined;
  /** On the node of the restore, if that is another one. */
  readonly eraseElsewhere?: Call<'erased'> | undefined;
  readonly eraseRemote?: Call<'erased'> | undefined;
  readonly upload?: Call<Uploaded> | undefined;
  /** Lets the Pod go on once its disks are copied. */
  readonly endHold?: Call<'held'> | undefined;
}

/** What other snapshots take of the quota that the object has part in. */
export interface Kept {
  /** SandboxSnapshots with `whenSaved: Resume` that are saved or being saved. */
  readonly snapshots: number;
  /** Bytes of all that are saved, hibernations included. */
  readonly bytes: number;
  /** Another save has begun and not ended. */
  readonly isSaving: boolean;
}

/** Everything that one pass may know about one SandboxSnapshot. Other services say "snapshot" for it, which here is taken. */
export interface Scene {
  readonly nowMs: number;
  readonly object: SandboxSnapshot;
  /** The class that the object names, or the default one. */
  readonly snapshotClass: SandboxSnapshotClass | undefined;
  /** Looked up while a decision needs it: before the save, and when the agent does not know the Pod. */
  readonly source: SourceLook | undefined;
  /** Looked up before a copy begins. */
  readonly copied?: CopyLook | undefined;
  /** Looked up while disks are copied, and when copies are to be removed. */
  readonly disks?: readonly DiskLook[] | undefined;
  readonly kept: Kept;
  /** The node that saves or has the data is certainly gone. */
  readonly isNodeGone: boolean;
  /** The node in `status.restore` is certainly gone. */
  readonly isRestoreNodeGone?: boolean | undefined;
  /** Since when no Node has had the fingerprint while Pods were marked; epoch milliseconds. */
  readonly placelessSinceMs?: number | undefined;
  /** A node whose agent can reach the bucket, for a deletion: that of the save if it serves. */
  readonly bucketNode?: string | undefined;
  /** Copies of it that may still be restored have their data in the bucket under its UID. */
  readonly isRemoteNeeded?: boolean | undefined;
  readonly calls: Calls;
  /** Pods that are marked for a restore of this object, in any namespace and by any author. */
  readonly pods: readonly Pod[];
  /** The Pod in `status.restore` is certainly gone, or ended. */
  readonly isRestorePodGone: boolean;
}

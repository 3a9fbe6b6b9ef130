import type { KeyObject } from 'node:crypto';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import type { EgressResolver } from '../pod/egress-resolver.ts';

/** What `service` means on a Sandbox that leaves it unset: docs/reference/sandbox.md#service-left-unset. */
export type UnsetService = 'V1Alpha1' | 'Never' | 'Always';

/** How the daemon comes into a Pod: an init container copies it, or the node mounts its image. */
export type RuntimeDelivery = 'InitContainer' | 'ImageVolume';

/** The memory of the daemon, or the log of the container: docs/reference/runtime.md#records-in-the-log. */
export type RecordsPlace = 'memory' | 'log';

/** What the installation says about the in-sandbox daemon. */
export interface RuntimeSettings {
  /** Image of the daemon for Sandboxes that name none; empty when the installation has none. */
  readonly image: string;
  /** Ed25519 public keys of the installation, base64 of their 32 bytes, separated by commas, the one in use first. Empty: no daemon is injected. */
  readonly publicKey: string;
  /** Ed25519 public keys of the gateway in the same form, the one that it signs with first. Empty: daemons obey no gateway. */
  readonly gatewayKeys: readonly string[];
  readonly delivery: RuntimeDelivery;
  /** Where daemons keep what processes do and print, unless the template says it. */
  readonly records: RecordsPlace;
  /** From it come the keys of Sandboxes; needed for ImageVolume. It does not print. */
  readonly identitySeed?: KeyObject | undefined;
}

/** Choices of the installation that decisions depend on. */
export interface Settings {
  readonly clusterDomain: string;
  readonly unsetService: UnsetService;
  readonly runtime: RuntimeSettings;
  /** Whether each namespace has a NetworkPolicy for its Sandboxes without a template. */
  readonly protectsAuthored: boolean;
  /** Whether the installation saves memory. Without it the controller neither reads nor writes SandboxSnapshots. */
  readonly snapshotsEnabled: boolean;
  /** Whether Sandboxes are saved and moved from nodes that are being emptied. */
  readonly drainEnabled: boolean;
}

/** What there is to know about the node of the Pod while it is being emptied. */
export interface Drain {
  /** Few Sandboxes of a node are saved at a time, and this one may be. */
  readonly hasTurn: boolean;
  /** The bucket gets the memory too. Until it has it, the node must not go. */
  readonly needsUpload: boolean;
}

/** The parts of a pass that can fail on their own; a failure of one is reported and does not stop the others. */
export type Phase = 'disks' | 'hibernation' | 'pod' | 'resize' | 'service' | 'expiry';

/** Something this pass could not do. The message is published. */
export interface Failure {
  readonly phase: Phase;
  readonly message: string;
  /** The reason to publish in place of `ReconcilerError`: the pass waits for something, and nothing went wrong. */
  readonly reason?: string;
  /** The API server refuses the object as invalid: only an edit of the Sandbox helps. */
  readonly isInvalid?: boolean;
  /** When to retry what the API server refused, in wall time. Absent: with the queue's back-off. */
  readonly retryAtMs?: number;
}

/**
 * Everything a decision depends on, at one moment, as plain data. `observe` builds it from the caches; applying a step
 * yields the next one, so one pure function decides from the first look to the last write of a pass. All times are epoch
 * milliseconds.
 */
export interface Snapshot {
  readonly nowMs: number;
  readonly settings: Settings;
  readonly sandbox: Sandbox;
  /** For how many milliseconds after its creation the progress of a Pod is not reported. */
  readonly quietMs: number;
  /** Until when the status need not show the generation that an adoption made; undefined: it is not held. */
  readonly statusHoldUntilMs: number | undefined;
  /** Pods whose controller is this Sandbox's UID, terminating ones included. The controller never resolves more than one. */
  readonly ownedPods: readonly Pod[];
  /** A Pod with the name that ours has or would have, but not controlled by this Sandbox. */
  readonly foreignPod: Pod | undefined;
  /** The Pod needs a NetworkPolicy that this pass has not looked for, so it may create none. */
  readonly needsNetworkLook: boolean;
  /** The resolver of the egress proxy; undefined: the installation has none. */
  readonly egressResolver?: EgressResolver | undefined;
  /** The authority of the egress proxy in PEM; empty or undefined: there is none that Pods could trust. */
  readonly egressCa?: string | undefined;
  /** The Service of the Sandbox's name. Its owner may be another object. */
  readonly service: Service | undefined;
  /** PersistentVolumeClaims with the names that the templates give, by name. Their owner may be another object. */
  readonly disks: ReadonlyMap<string, PersistentVolumeClaim>;
  /** SandboxSnapshots by which this Sandbox hibernates or did, terminating ones included, the newest first. */
  readonly hibernations: readonly SandboxSnapshot[];
  /** The node of the Pod is being emptied; undefined: it is not, or the installation does not care. */
  readonly drain?: Drain | undefined;
  /** The node of the Pod that was saved last is being emptied, as far as the installation cares. */
  readonly isSourceEmptied?: boolean;
  /** The cache of hibernations may lag, and this pass has not read them from the API server, so it may create no Pod. */
  readonly needsMemoryLook: boolean;
  /** What has gone wrong in this pass. Nothing more is decided for a phase with a failure until the next pass. */
  readonly failures: readonly Failure[];
  /** Until when a request to wake the Sandbox stands; undefined without a request. */
  readonly wakeRequestUntilMs: number | undefined;
  /** The trace context of that request, as the text of the annotation that carries it. */
  readonly wakeTrace?: string | undefined;
  /** When a report of activity ahead of our clock was first seen; undefined for any other report. */
  readonly earlyReportSeenMs: number | undefined;
  /** When the Sandbox was last used, as gateways and the API report it; undefined without a report. */
  readonly lastUsedMs?: number | undefined;
  /** Keys of the troubles that already have an Event, and until when each needs no other one. */
  readonly reportedTroubles: ReadonlyMap<string, number>;
  /** The Sandbox went away under this pass: nothing is left to decide. */
  readonly gone: boolean;
}

/** Whether `phase` has failed in this pass. */
export function hasFailed(snapshot: Snapshot, phase: Phase): boolean {
  return snapshot.failures.some((failure) => failure.phase === phase);
}

/** The one Pod of this Sandbox; undefined when there is none, or several. */
export function findOnlyPod({ ownedPods }: Snapshot): Pod | undefined {
  return ownedPods.length === 1 ? ownedPods[0] : undefined;
}

/** Whether the API server has accepted the deletion of `object` and something still holds it. */
export function isTerminating(object: { metadata: { deletionTimestamp?: string | undefined } }): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

import type { Sandbox } from '@sandlot/api-types';
import type { PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import type { RuntimeSettings } from '../pod/runtime-injection.ts';

/** What `service` means on a Sandbox that leaves it unset (API contract, `service` left unset). */
export type UnsetService = 'V1Alpha1' | 'Never' | 'Always';

/** Choices of the installation that decisions depend on. */
export interface Settings {
  readonly clusterDomain: string;
  readonly unsetService: UnsetService;
  readonly runtime: RuntimeSettings;
}

/** The parts of a pass that can fail on their own; a failure of one is reported and does not stop the others. */
export type Phase = 'pvcs' | 'pod' | 'service' | 'expiry';

/** Something this pass could not do. The message is published under `ReconcilerError`. */
export interface Failure {
  readonly phase: Phase;
  readonly message: string;
  /** When what the API server refused may be tried again, in wall time. Absent: with the queue's backoff. */
  readonly retryAtMs?: number;
}

/**
 * Everything a decision depends on, at one moment. Observation builds it from the caches; applying a step yields the next
 * one, so that one pure function decides from the first look to the last write of a pass.
 */
export interface Snapshot {
  /** Wall time of the pass. */
  readonly nowMs: number;
  readonly settings: Settings;
  readonly sandbox: Sandbox;
  /** How long after its creation the progress of a Pod need not be told, in milliseconds. */
  readonly quietMs: number;
  /** Until when the generation that an adoption made may go untold, in wall time; undefined when there is none. */
  readonly aftermathUntilMs: number | undefined;
  /** Wall time, milliseconds, until when its Pod goes on as before its adoption. */
  readonly yieldsUntilMs: number | undefined;
  /** Pods whose controller is this Sandbox's UID, terminating ones included. More than one is never resolved by us. */
  readonly ownedPods: readonly Pod[];
  /** A Pod that has the name ours has or would have, but is not controlled by this Sandbox. */
  readonly foreignPod: Pod | undefined;
  /** The Service of the Sandbox's name, whoever owns it. */
  readonly service: Service | undefined;
  /** PersistentVolumeClaims of the templates' names, whoever owns them. */
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
  /** What went wrong so far in this pass. A phase with a failure decides nothing more until the next pass. */
  readonly failures: readonly Failure[];
  /** Until when a request to wake the Sandbox stands, in wall time; undefined when nobody asked. */
  readonly wakeUntilMs: number | undefined;
  /** The trace of whoever asked, as the text of the annotation that carries it. */
  readonly wakeTrace?: string | undefined;
  /** When a report of activity ahead of our clock was first seen, in wall time; undefined for any other report. */
  readonly reportSeenMs: number | undefined;
  /** When gateways or the API reported last that it was used, in wall time; undefined when they have not. */
  readonly usedMs?: number | undefined;
  /** Keys of the troubles that its Events tell of already, and until when they need not be told again, in wall time. */
  readonly told: ReadonlyMap<string, number>;
  /** The Sandbox went away under this pass: nothing is left to decide. */
  readonly gone: boolean;
}

/** Whether `phase` has failed in this pass. */
export function failed(snapshot: Snapshot, phase: Phase): boolean {
  return snapshot.failures.some((failure) => failure.phase === phase);
}

/** The one Pod of this Sandbox; undefined when there is none, or several. */
export function onlyPod({ ownedPods }: Snapshot): Pod | undefined {
  return ownedPods.length === 1 ? ownedPods[0] : undefined;
}

/** Whether the API server has accepted the deletion of `object` and something still holds it. */
export function isTerminating(object: { metadata: { deletionTimestamp?: string | undefined } }): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

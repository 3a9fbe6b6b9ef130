import { claim, pool, template } from '@sandlot/api-types/testing';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import type { BatchSnapshot } from '../src/plan/snapshot-batch.ts';
import type { ClaimSnapshot } from '../src/plan/snapshot.ts';

/** Moment of all snapshots, epoch milliseconds. */
export const NOW = Date.UTC(2026, 0, 1, 12);

/** RFC 3339 of a moment so long after {@link NOW}. */
export const at = (offsetMs: number): string => new Date(NOW + offsetMs).toISOString();

/** A claim of a pool and a template that exist, without a Sandbox and without stock. */
export function claimSnapshot(parts: Partial<ClaimSnapshot> = {}): ClaimSnapshot {
  return {
    claim: claim({ metadata: { creationTimestamp: at(0) } }),
    source: { kind: 'found', template: template(), pools: [pool()] },
    owned: [],
    uninitialised: [],
    namesake: undefined,
    rival: undefined,
    promised: undefined,
    failures: undefined,
    timedSince: new Map(),
    offers: [],
    warming: 0,
    nowMs: NOW,
    knownForMs: 0,
    isInBurst: false,
    allowedLabelDomains: ['sandbox.users.io'],
    podDefaults: POD_DEFAULTS,
    envsFromSecrets: false,
    egressRules: { isAvailable: true, allowsSecrets: true },
    canReadStoredEnvs: false,
    persistentVolumes: 'off',
    ...parts,
  };
}

/** A detached claim that has been claiming for a second. */
export function batchSnapshot(parts: Partial<BatchSnapshot> = {}): BatchSnapshot {
  return { ...claimSnapshot(), startMs: NOW - 1_000, live: [], ...parts };
}

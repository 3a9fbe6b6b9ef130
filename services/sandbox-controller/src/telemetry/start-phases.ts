import { findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { findController } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/**
 * The phases of a first start, in order: `create` until the Pod exists, `schedule` until it has a node, `start` until it
 * runs (disks, images, containers), `ready` until its probes pass, `publish` until the status shows it.
 */
export const START_PHASES = ['create', 'schedule', 'start', 'ready', 'publish'] as const;

export type StartPhase = (typeof START_PHASES)[number];

/** For what a Sandbox was created. */
export const START_OWNERS = ['claim', 'pool', 'none'] as const;

export interface PhaseTiming {
  readonly phase: StartPhase;
  readonly owner: (typeof START_OWNERS)[number];
  readonly seconds: number;
}

interface Start {
  readonly owner: PhaseTiming['owner'];
  /** How many phases have ended. */
  ended: number;
  lastMs: number;
}

/** A start that takes longer is not measured: it waits for a person, not for a machine. */
const LONGEST_MS = 3_600_000;
const MAX_STARTS = 10_000;

/**
 * Measures the phases of first starts from what the caches show, by the monotonic clock: the times in the objects are whole
 * seconds. When one event ends several phases, the later ones count as zero, so that the phases of a start add up. What
 * began before this process is not measured.
 */
export class StartPhases {
  readonly #clock: Clock;
  readonly #starts: TimedMap<Start>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#starts = new TimedMap({ clock, max: MAX_STARTS });
  }

  onSandboxChange(old: Sandbox | undefined, next: Sandbox | undefined, initial: boolean): readonly PhaseTiming[] {
    const uid = (next ?? old)?.metadata.uid ?? '';
    if (next === undefined) this.#starts.delete(uid);
    else if (old === undefined && !initial && next.status === undefined) this.#begin(uid, next);
    else if (isReady(next)) return this.#endPhases(uid, START_PHASES.length);
    return [];
  }

  onPodChange(pod: Pod | undefined): readonly PhaseTiming[] {
    if (pod === undefined) return [];
    return this.#endPhases(findController(pod)?.uid ?? '', getEndedPhases(pod));
  }

  #begin(uid: string, sandbox: Sandbox): void {
    this.#starts.set(uid, { owner: getOwner(sandbox), ended: 0, lastMs: this.#clock.monotonic() }, LONGEST_MS);
  }

  /** Ends the phases up to the first `count` ones. */
  #endPhases(uid: string, count: number): readonly PhaseTiming[] {
    const start = this.#starts.get(uid);
    if (start === undefined || count <= start.ended) return [];
    const nowMs = this.#clock.monotonic();
    const phases = START_PHASES.slice(start.ended, count);
    const seconds = (nowMs - start.lastMs) / 1_000;
    start.ended = count;
    start.lastMs = nowMs;
    if (count === START_PHASES.length) this.#starts.delete(uid);
    return phases.map((phase, index) => ({ phase, owner: start.owner, seconds: index === 0 ? seconds : 0 }));
  }
}

function getEndedPhases({ spec, status }: Pod): number {
  if (findCondition(status?.conditions, 'Ready')?.status === 'True') return 4;
  if (status?.phase === 'Running') return 3;
  return spec.nodeName === undefined ? 1 : 2;
}

function isReady({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, sandboxConditions.ready)?.status === 'True';
}

function getOwner(sandbox: Sandbox): PhaseTiming['owner'] {
  const kind = findController(sandbox)?.kind;
  if (kind === 'SandboxClaim') return 'claim';
  return kind === 'SandboxWarmPool' ? 'pool' : 'none';
}

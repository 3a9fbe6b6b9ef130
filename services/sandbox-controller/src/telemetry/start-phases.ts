import { findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { controllerOf } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/**
 * Where the time of a first start goes, in its order: `create` until the Pod is there, `schedule` until it has a node,
 * `start` until it runs (disks, images, containers), `ready` until its probes say so, `publish` until the status does.
 */
export const START_PHASES = ['create', 'schedule', 'start', 'ready', 'publish'] as const;

export type StartPhase = (typeof START_PHASES)[number];

/** Whom a Sandbox was made for. */
export const START_OWNERS = ['claim', 'pool', 'none'] as const;

export interface PhaseTiming {
  readonly phase: StartPhase;
  readonly owner: (typeof START_OWNERS)[number];
  readonly seconds: number;
}

interface Start {
  readonly owner: PhaseTiming['owner'];
  /** How many phases are over. */
  over: number;
  lastMs: number;
}

/** A start that takes longer is no longer measured: it waits for a person, not for a machine. */
const LONGEST_MS = 3_600_000;
const MAX_STARTS = 10_000;

/**
 * Measures the phases of first starts with the monotonic clock and from what the caches show, to the millisecond, where
 * the times in the objects are whole seconds. Phases that the watch showed at once took no time, so that the phases of a
 * start add up. What began before this process did is not measured.
 */
export class StartPhases {
  readonly #clock: Clock;
  readonly #starts: TimedMap<Start>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#starts = new TimedMap({ clock, max: MAX_STARTS });
  }

  sandboxChanged(old: Sandbox | undefined, next: Sandbox | undefined, initial: boolean): readonly PhaseTiming[] {
    const uid = (next ?? old)?.metadata.uid ?? '';
    if (next === undefined) this.#starts.delete(uid);
    else if (old === undefined && !initial && next.status === undefined) this.#begin(uid, next);
    else if (isReady(next)) return this.#reached(uid, START_PHASES.length);
    return [];
  }

  podChanged(pod: Pod | undefined): readonly PhaseTiming[] {
    if (pod === undefined) return [];
    return this.#reached(controllerOf(pod)?.uid ?? '', phasesOver(pod));
  }

  #begin(uid: string, sandbox: Sandbox): void {
    this.#starts.set(uid, { owner: ownerOf(sandbox), over: 0, lastMs: this.#clock.monotonic() }, LONGEST_MS);
  }

  #reached(uid: string, over: number): readonly PhaseTiming[] {
    const start = this.#starts.get(uid);
    if (start === undefined || over <= start.over) return [];
    const nowMs = this.#clock.monotonic();
    const ended = START_PHASES.slice(start.over, over);
    const seconds = (nowMs - start.lastMs) / 1_000;
    start.over = over;
    start.lastMs = nowMs;
    if (over === START_PHASES.length) this.#starts.delete(uid);
    return ended.map((phase, index) => ({ phase, owner: start.owner, seconds: index === 0 ? seconds : 0 }));
  }
}

function phasesOver({ spec, status }: Pod): number {
  if (findCondition(status?.conditions, 'Ready')?.status === 'True') return 4;
  if (status?.phase === 'Running') return 3;
  return spec.nodeName === undefined ? 1 : 2;
}

function isReady({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, sandboxConditions.ready)?.status === 'True';
}

function ownerOf(sandbox: Sandbox): PhaseTiming['owner'] {
  const kind = controllerOf(sandbox)?.kind;
  if (kind === 'SandboxClaim') return 'claim';
  return kind === 'SandboxWarmPool' ? 'pool' : 'none';
}

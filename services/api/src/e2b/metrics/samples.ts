import type { Clock } from '@sandlot/std';
import type { ClaimedSandbox, ClusterState } from '../../state/cluster-state.ts';
import type { SandboxMetric } from '../answer/schemas.ts';
import { AskQueue } from './ask-queue.ts';
import { KEPT_MS } from './history/history.ts';
import type { History, Subject } from './history/history.ts';
import { thinPoints } from './history/points.ts';
import type { TimeRange } from './history/points.ts';
import { isMeasurable, readSample } from './read-sample.ts';
import type { SampleDeps } from './read-sample.ts';
import { Watched } from './watched.ts';
import type { Wanted } from './watched.ts';

export interface SamplesDeps extends SampleDeps {
  readonly state: Pick<ClusterState, 'claims' | 'withSandbox'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  /** Absent: the installation has no Redis, and answers have the newest sample alone. */
  readonly history?: History | undefined;
  /** Aborts when the process starts to shut down. */
  readonly closing: AbortSignal;
}

/** A sample that is older is asked for again, and until then still served. */
const FRESH_MS = 5_000;
/** An older sample says nothing about now. */
const SERVED_MS = 60_000;
/** Samples that a replica keeps, a few hundred bytes each. */
const MAX_SAMPLES = 5_000;
/** How long an answer about several sandboxes waits for daemons. What comes later is in the next answer. */
const PATIENCE_MS = 1_000;

interface Seen {
  readonly sample: SandboxMetric;
  readonly atMs: number;
}

/** What sandboxes used when this replica last asked their daemons. */
export class Samples {
  readonly #deps: SamplesDeps;
  readonly #queue = new AskQueue();
  readonly #watched: Watched;
  /** By UID of the claim, the oldest first. */
  readonly #seen = new Map<string, Seen>();

  constructor(deps: SamplesDeps) {
    this.#deps = deps;
    const { clock, closing } = deps;
    this.#watched = new Watched({ clock, closing, sample: (wanted) => this.#sampleWanted(wanted) });
  }

  /**
   * The samples of the range that are kept, ascending, and one of now if the range has it and the sandbox runs. From then on
   * the sandbox is sampled for a while.
   */
  async readRange(claimed: ClaimedSandbox, asked: TimeRange, signal: AbortSignal): Promise<readonly SandboxMetric[]> {
    const { history, clock } = this.#deps;
    const isRunning = isMeasurable(claimed);
    if (isRunning && history !== undefined) this.#watched.want(getName(claimed));
    const isOfNow = isRunning && asked.end * 1_000 > clock.now() - FRESH_MS;
    const newest = isOfNow ? await this.#readNewest(claimed, signal) : undefined;
    const range = clampRange(asked, { claimed, nowMs: clock.now() });
    const kept = (await history?.read(getSubject(claimed), range)) ?? [];
    return thinPoints(newest === undefined ? kept : [...kept, newest], range);
  }

  async #readNewest(claimed: ClaimedSandbox, signal: AbortSignal): Promise<SandboxMetric | undefined> {
    if (!this.#isFresh(claimed)) await Promise.race([this.#ask(claimed), waitForAbort(signal)]);
    return this.#find(claimed)?.sample;
  }

  /**
   * The last samples of those that run, by sandbox id. A few daemons at a time are asked for new ones, for which the answer
   * waits a moment: a request never asks many at once.
   */
  async readLast(claimed: readonly ClaimedSandbox[], signal: AbortSignal): Promise<Record<string, SandboxMetric>> {
    const running = claimed.filter(isMeasurable);
    const asked = running.filter((each) => !this.#isFresh(each)).map((each) => this.#ask(each));
    if (asked.length > 0) await this.#waitFor(Promise.all(asked), signal);
    const last = running.flatMap((each): [string, SandboxMetric][] => {
      const seen = this.#find(each);
      return seen === undefined ? [] : [[each.claim.metadata.name ?? '', seen.sample]];
    });
    return Object.fromEntries(last);
  }

  #ask(claimed: ClaimedSandbox): Promise<void> {
    const { namespace = '' } = claimed.claim.metadata;
    return this.#queue.add({ namespace, id: getUid(claimed), ask: () => this.#sample(claimed) });
  }

  /** Asks the daemon, unless another replica did a moment ago. A daemon that does not answer leaves no sample. Never rejects. */
  async #sample(claimed: ClaimedSandbox): Promise<void> {
    const { history, closing } = this.#deps;
    const subject = getSubject(claimed);
    if (history !== undefined && !(await history.takeTurn(subject))) return this.#copy(claimed, history);
    const sample = await readSample(this.#deps, claimed, closing);
    if (sample === undefined) return;
    this.#keep(claimed, sample);
    await history?.add(subject, sample);
  }

  /** Takes over what another replica has sampled; what that one still waits for is in a later answer. */
  async #copy(claimed: ClaimedSandbox, history: History): Promise<void> {
    const end = Math.ceil(this.#deps.clock.now() / 1_000);
    const range = { start: end - SERVED_MS / 1_000, end };
    const sample = (await history.read(getSubject(claimed), range))?.at(-1);
    if (sample !== undefined) this.#keep(claimed, sample);
  }

  async #sampleWanted({ namespace, name }: Wanted): Promise<void> {
    const { state } = this.#deps;
    const claim = state.claims.get(`${namespace}/${name}`);
    const claimed = claim === undefined ? undefined : state.withSandbox(claim);
    if (claimed !== undefined && isMeasurable(claimed)) await this.#ask(claimed);
  }

  async #waitFor(asked: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    await Promise.race([asked, this.#deps.clock.sleep(PATIENCE_MS, AbortSignal.any([signal, over.signal]))]);
    over.abort();
  }

  #isFresh(claimed: ClaimedSandbox): boolean {
    const seen = this.#find(claimed);
    return seen !== undefined && this.#deps.clock.now() - seen.atMs < FRESH_MS;
  }

  #find(claimed: ClaimedSandbox): Seen | undefined {
    const seen = this.#seen.get(getUid(claimed));
    return seen !== undefined && this.#deps.clock.now() - seen.atMs < SERVED_MS ? seen : undefined;
  }

  #keep(claimed: ClaimedSandbox, sample: SandboxMetric): void {
    const uid = getUid(claimed);
    this.#seen.delete(uid);
    this.#seen.set(uid, { sample, atMs: sample.timestampUnix * 1_000 });
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= MAX_SAMPLES) return;
      this.#seen.delete(oldest);
    }
  }
}

/** The part of the range that can have samples: their distance in the answer follows from it. */
function clampRange(
  { start, end }: TimeRange,
  { claimed, nowMs }: { readonly claimed: ClaimedSandbox; readonly nowMs: number },
): TimeRange {
  const createdMs = Date.parse(claimed.claim.metadata.creationTimestamp ?? '') || 0;
  const first = Math.floor(Math.max(createdMs, nowMs - KEPT_MS) / 1_000);
  return { start: Math.max(start, first), end: Math.min(end, Math.ceil(nowMs / 1_000)) };
}

function getName({ claim }: ClaimedSandbox): Wanted {
  const { namespace = '', name = '' } = claim.metadata;
  return { namespace, name };
}

function getSubject(claimed: ClaimedSandbox): Subject {
  return { namespace: claimed.claim.metadata.namespace ?? '', uid: getUid(claimed) };
}

async function waitForAbort(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  signal.addEventListener('abort', () => resolve(undefined), { once: true });
  if (!signal.aborted) await promise;
}

function getUid({ claim }: ClaimedSandbox): string {
  return claim.metadata.uid ?? '';
}

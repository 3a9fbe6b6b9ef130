import type { Clock } from '@sandlot/std';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { SandboxMetric } from '../answer/schemas.ts';
import { AskQueue } from './ask-queue.ts';
import { isMeasurable, readSample } from './read-sample.ts';
import type { SampleDeps } from './read-sample.ts';

export interface SamplesDeps extends SampleDeps {
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
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
  /** By UID of the claim, the oldest first. */
  readonly #seen = new Map<string, Seen>();

  constructor(deps: SamplesDeps) {
    this.#deps = deps;
  }

  /** A sample of now; undefined if the sandbox does not run, or its daemon does not answer in time. */
  async read(claimed: ClaimedSandbox, signal: AbortSignal): Promise<SandboxMetric | undefined> {
    const sample = await readSample(this.#deps, claimed, signal);
    if (sample !== undefined) this.#keep(claimed, sample);
    return sample;
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
    const ask = async (): Promise<void> => {
      await this.read(claimed, this.#deps.closing);
    };
    return this.#queue.add({ namespace, id: getUid(claimed), ask });
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
    this.#seen.set(uid, { sample, atMs: this.#deps.clock.now() });
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= MAX_SAMPLES) return;
      this.#seen.delete(oldest);
    }
  }
}

function getUid({ claim }: ClaimedSandbox): string {
  return claim.metadata.uid ?? '';
}

import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { buildColdSandbox } from '@sandlot/blueprint';
import { done, getKey, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { adopt } from '../adopt/adopt.ts';
import { publishSlots } from './publish-slots.ts';
import { createOrRead, withTrace } from '../adopt/create.ts';
import { getDetachedClaimingEndMs } from '../lifetime/deadlines.ts';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Step } from '../plan/plan.ts';
import type { Report } from '../plan/report.ts';
import { Wave } from './wave.ts';

/** A pass ends after this long, so that changes of the claim or its pool take effect. */
const MAX_PASS_MS = 20_000;
/** A slot whose name belongs to a foreign Sandbox is retried after this long. */
const BLOCKED_RETRY_MS = 5_000;

type Fill = Step & { kind: 'fillSlots' };

/** Fills slots of a detached claim, many side by side. One `claim.bind` span, in the trace of the claim. */
export async function fillSlots(deps: ApplyDeps, pass: Pass, step: Fill): Promise<ReconcileResult> {
  const { namespace = '', uid = '' } = pass.claim.metadata;
  const attributes = { [spanAttributes.namespace]: namespace, [spanAttributes.claimUid]: uid };
  return withChildSpan({ name: spanNames.claimBind, attributes }, () => new Filling(deps, pass, step).run());
}

/** Why the pass starts no more slots. */
type Stop = 'stock' | 'over' | 'gone' | 'error';

/**
 * One pass's work on the free slots. It starts a slot as soon as another is done, up to the size of the wave, and publishes
 * a complete wave while the next one runs. The first error ends the pass, and the queue's back-off delays the retry.
 */
class Filling {
  readonly #deps: ApplyDeps;
  readonly #pass: Pass;
  readonly #step: Fill;
  readonly #claimKey: string;
  readonly #wave = new Wave();
  readonly #pending: number[];
  readonly #deadlineMs: number;
  readonly #running = new Set<Promise<void>>();
  #publishing: Promise<void> | undefined;
  #stop: Stop | undefined;
  #error: Error | undefined;
  #report: Report | undefined;

  constructor(deps: ApplyDeps, pass: Pass, step: Fill) {
    this.#deps = deps;
    this.#pass = pass;
    this.#step = step;
    this.#claimKey = getKey(pass.claim);
    this.#pending = [...step.slots];
    const nowMs = deps.nowMs();
    const { startMs } = deps.batches.of(pass.claim, nowMs);
    this.#deadlineMs = Math.min(getDetachedClaimingEndMs(pass.claim, startMs), nowMs + MAX_PASS_MS);
  }

  async run(): Promise<ReconcileResult> {
    this.#startMore();
    while (this.#running.size > 0) await Promise.race(this.#running);
    await this.#publishing;
    if (this.#stop === undefined) this.#deps.waiters.remove(this.#claimKey);
    const published = this.#stop === 'gone' ? 'gone' : await this.#publish();
    if (this.#error !== undefined) throw this.#error;
    return published === 'gone' ? done : this.#next();
  }

  #next(): ReconcileResult {
    const { otherwise } = this.#step;
    if (this.#stop === 'over') return requeueAfter(0, 'there may be slots left to fill');
    if (this.#stop === 'stock' && otherwise.kind === 'queueForStock') {
      return requeueAfter(otherwise.retryMs, 'a pool has no candidate for this claim yet');
    }
    return this.#report === undefined
      ? done
      : requeueAfter(BLOCKED_RETRY_MS, 'a foreign Sandbox has the name of a slot');
  }

  #startMore(): void {
    while (this.#running.size < this.#wave.size && this.#pending.length > 0 && this.#canStart()) {
      const slot = this.#pending.shift() ?? 0;
      const running = this.#fillSlot(slot).finally(() => {
        this.#running.delete(running);
        this.#startMore();
      });
      this.#running.add(running);
    }
  }

  #canStart(): boolean {
    const claim = this.#deps.claims.get(this.#claimKey)?.metadata;
    if (claim?.uid !== this.#pass.claim.metadata.uid || claim?.deletionTimestamp !== undefined) this.#stop ??= 'over';
    if (this.#deps.nowMs() >= this.#deadlineMs || this.#pass.signal.aborted) this.#stop ??= 'over';
    return this.#stop === undefined;
  }

  async #fillSlot(slot: number): Promise<void> {
    try {
      const sandbox = await this.#adoptOrCreate(slot);
      if (sandbox === undefined) return;
      await this.#deps.runtime.initCommitted(this.#pass, sandbox);
      if (this.#wave.countFilled()) this.#publishBehind();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#stop ??= 'error';
    this.#error ??= error instanceof Error ? error : new Error(String(error));
  }

  /** The Sandbox of the slot; undefined when the slot stays free for now. */
  async #adoptOrCreate(slot: number): Promise<Sandbox | undefined> {
    const { pools, template, otherwise } = this.#step;
    const { claim, signal } = this.#pass;
    const offers = pools.filter(({ metadata }) => this.#deps.waiters.mayAdopt(this.#claimKey, metadata.uid ?? ''));
    if (offers.length > 0) {
      const record = this.#deps.batches.slot(claim, slot, this.#deps.nowMs());
      const input = {
        claim,
        slot,
        record,
        pools: offers,
        template,
        traceContext: this.#deps.traces.findAdoptionCarrier(claim),
        signal,
      };
      const sandbox = await withChildSpan({ name: spanNames.claimAdopt }, () => adopt(this.#deps, input));
      if (sandbox !== undefined) return sandbox;
    }
    if (otherwise.kind === 'createSlot') return this.#create(slot, otherwise.input);
    // Synchronously after the look at the stock: every candidate from now on enqueues the claim.
    const poolUids = otherwise.pools.map(({ metadata }) => metadata.uid ?? '');
    this.#deps.waiters.add(this.#claimKey, poolUids);
    this.#deps.memory.recordWait(claim, this.#deps.waiters.count(poolUids));
    this.#stop ??= 'stock';
    this.#report ??= otherwise.report;
    return undefined;
  }

  async #create(slot: number, input: Parameters<typeof buildColdSandbox>[0]): Promise<Sandbox | undefined> {
    const wanted = withTrace(buildColdSandbox({ ...input, slot }), this.#deps.traces.findCarrier(this.#pass.claim));
    const { name = '' } = wanted.metadata;
    const sandbox = await withChildSpan({ name: spanNames.claimColdStart }, () =>
      createOrRead(this.#deps, { ...this.#pass, slot }, wanted),
    );
    if (sandbox !== undefined) return sandbox;
    const detail = claimMessages.notControlled(name, this.#pass.claim.metadata.name ?? '');
    this.#report ??= { reason: claimReasons.reconcilerError, message: claimMessages.error(detail) };
    return undefined;
  }

  /** Publishes beside the filling, one write at a time. The next write has what is delivered meanwhile. */
  #publishBehind(): void {
    this.#publishing ??= this.#publish()
      .then((shown) => {
        if (shown === 'gone') this.#stop = 'gone';
      })
      .catch((error: unknown) => this.#fail(error))
      .finally(() => (this.#publishing = undefined));
  }

  #publish(): ReturnType<typeof publishSlots> {
    return publishSlots(this.#deps, this.#pass, { timedOut: false, report: this.#report });
  }
}

import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { coldSandbox } from '@sandlot/blueprint';
import { done, keyOf, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { adopt } from '../adopt/adopt.ts';
import { publishSlots } from './publish-slots.ts';
import { createOrRead, withTrace } from '../adopt/create.ts';
import { detachedClaimingEndsAtMs } from '../lifetime/deadlines.ts';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Step } from '../plan/plan.ts';
import type { Report } from '../plan/report.ts';
import { Wave } from './wave.ts';

/** A pass ends after this long, so that a change of the claim or its pool is not ignored for longer. */
const MAX_PASS_MS = 20_000;
/** A slot whose name is taken by a Sandbox of somebody else is tried again after this long. */
const BLOCKED_RETRY_MS = 5_000;

type Fill = Step & { kind: 'fillSlots' };

/** Fills slots of a detached claim, many side by side. One `claim.bind` span, in the trace of the claim. */
export async function fillSlots(deps: ApplyDeps, pass: Pass, step: Fill): Promise<ReconcileResult> {
  const { namespace = '', uid = '' } = pass.claim.metadata;
  const attributes = { [spanAttributes.namespace]: namespace, [spanAttributes.claimUid]: uid };
  return withChildSpan({ name: spanNames.claimBind, attributes }, () => new Filling(deps, pass, step).run());
}

/** Why no more slots are started. */
type Stop = 'stock' | 'over' | 'gone' | 'error';

/**
 * One pass's work on the free slots. A slot is started as soon as another is done, up to the size of the wave; a wave
 * that went well is shown while the next one runs. The first error ends the pass: the queue's backoff slows it down.
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
  #showing: Promise<void> | undefined;
  #stop: Stop | undefined;
  #error: Error | undefined;
  #report: Report | undefined;

  constructor(deps: ApplyDeps, pass: Pass, step: Fill) {
    this.#deps = deps;
    this.#pass = pass;
    this.#step = step;
    this.#claimKey = keyOf(pass.claim);
    this.#pending = [...step.slots];
    const nowMs = deps.nowMs();
    const { startMs } = deps.batches.of(pass.claim, nowMs);
    this.#deadlineMs = Math.min(detachedClaimingEndsAtMs(pass.claim, startMs), nowMs + MAX_PASS_MS);
  }

  async run(): Promise<ReconcileResult> {
    this.#startMore();
    while (this.#running.size > 0) await Promise.race(this.#running);
    await this.#showing;
    if (this.#stop === undefined) this.#deps.waiters.remove(this.#claimKey);
    const shown = this.#stop === 'gone' ? 'gone' : await this.#show();
    if (this.#error !== undefined) throw this.#error;
    return shown === 'gone' ? done : this.#next();
  }

  #next(): ReconcileResult {
    const { otherwise } = this.#step;
    if (this.#stop === 'over') return requeueAfter(0, 'there may be slots left to fill');
    if (this.#stop === 'stock' && otherwise.kind === 'queueForStock') {
      return requeueAfter(otherwise.retryMs, 'a pool has no candidate for this claim yet');
    }
    return this.#report === undefined ? done : requeueAfter(BLOCKED_RETRY_MS, 'a Sandbox is in the way');
  }

  #startMore(): void {
    while (this.#running.size < this.#wave.size && this.#pending.length > 0 && this.#mayStart()) {
      const slot = this.#pending.shift() ?? 0;
      const running = this.#fill(slot).finally(() => {
        this.#running.delete(running);
        this.#startMore();
      });
      this.#running.add(running);
    }
  }

  #mayStart(): boolean {
    const claim = this.#deps.claims.get(this.#claimKey)?.metadata;
    if (claim?.uid !== this.#pass.claim.metadata.uid || claim?.deletionTimestamp !== undefined) this.#stop ??= 'over';
    if (this.#deps.nowMs() >= this.#deadlineMs || this.#pass.signal.aborted) this.#stop ??= 'over';
    return this.#stop === undefined;
  }

  async #fill(slot: number): Promise<void> {
    try {
      const sandbox = await this.#take(slot);
      if (sandbox === undefined) return;
      this.#deps.batches.assign(this.#pass.claim, sandbox, this.#deps.nowMs());
      await this.#deps.runtime.initCommitted(this.#pass, sandbox);
      if (this.#wave.succeeded()) this.#showBehind();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#stop ??= 'error';
    this.#error ??= error instanceof Error ? error : new Error(String(error));
  }

  /** Undefined when the slot stays free for now. */
  async #take(slot: number): Promise<Sandbox | undefined> {
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
        traceContext: this.#deps.traces.adoptionCarrierOf(claim),
        signal,
      };
      const sandbox = await withChildSpan({ name: spanNames.claimAdopt }, () => adopt(this.#deps, input));
      if (sandbox !== undefined) return sandbox;
    }
    if (otherwise.kind === 'createSlot') return this.#create(slot, otherwise.input);
    // In the same breath as the look at the stock: a candidate that comes from now on wakes the claim.
    this.#deps.waiters.add(
      this.#claimKey,
      otherwise.pools.map(({ metadata }) => metadata.uid ?? ''),
    );
    this.#deps.memory.of(claim).waited = true;
    this.#stop ??= 'stock';
    this.#report ??= otherwise.report;
    return undefined;
  }

  async #create(slot: number, input: Parameters<typeof coldSandbox>[0]): Promise<Sandbox | undefined> {
    const wanted = withTrace(coldSandbox({ ...input, slot }), this.#deps.traces.carrierOf(this.#pass.claim));
    const { name = '' } = wanted.metadata;
    const sandbox = await withChildSpan({ name: spanNames.claimColdStart }, () =>
      createOrRead(this.#deps, { ...this.#pass, slot }, wanted),
    );
    if (sandbox !== undefined) return sandbox;
    const detail = claimMessages.notControlled(name, this.#pass.claim.metadata.name ?? '');
    this.#report ??= { reason: claimReasons.reconcilerError, message: claimMessages.error(detail) };
    return undefined;
  }

  /** One write at a time; what is delivered meanwhile goes with the next. */
  #showBehind(): void {
    this.#showing ??= this.#show()
      .then((shown) => {
        if (shown === 'gone') this.#stop = 'gone';
      })
      .catch((error: unknown) => this.#fail(error))
      .finally(() => (this.#showing = undefined));
  }

  #show(): ReturnType<typeof publishSlots> {
    return publishSlots(this.#deps, this.#pass, { timedOut: false, report: this.#report });
  }
}

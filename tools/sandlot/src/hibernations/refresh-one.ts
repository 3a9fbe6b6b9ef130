import { findCondition, isReady, sandboxConditions, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isConflict, isForbidden, isInvalid, isNotFound, KubeError } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Candidate } from './candidates.ts';
import { decide, isBegun } from './decide.ts';
import type { Step, View } from './decide.ts';
import { buildForgetPatch, buildSleepPatch, buildWakePatch } from './patches.ts';
import { findNext } from './watch-snapshots.ts';
import type { Kept, Snapshots } from './watch-snapshots.ts';

export interface RefreshDeps {
  readonly client: KubeClient;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly snapshots: Snapshots;
  /** How long a wake may take, and a suspension. */
  readonly limitMs: number;
  /** Aborted when nothing more is to be woken, and what is awake has to sleep. */
  readonly signal: AbortSignal;
}

/** What became of one Sandbox. */
export interface Outcome {
  readonly namespace: string;
  readonly name: string;
  /** What the wake began with; undefined if this run has not seen that. */
  readonly woke?: Kept | undefined;
  /** What the next wake begins with; undefined if the Sandbox was not suspended again. */
  readonly sleeps?: Kept | undefined;
  readonly node?: string | undefined;
  /** Why the refresh did not succeed. */
  readonly problem?: string | undefined;
  /** Why there was nothing to do, or no need to suspend it again. */
  readonly note?: string | undefined;
  /** Whether it was woken, and could not be saved again. */
  readonly isLost?: boolean;
}

const POLL_MS = 250;
const INTERRUPTED = 'the run was interrupted before it woke the Sandbox';
const HURRIED = 'the run was interrupted while the Sandbox woke, and it sleeps again';

/** Wakes one Sandbox, waits until it goes on, and suspends it again. Never rejects. */
export function refreshOne(deps: RefreshDeps, candidate: Candidate): Promise<Outcome> {
  return new Refresh(deps, candidate).run();
}

class Refresh {
  readonly #deps: RefreshDeps;
  readonly #candidate: Candidate;
  #wasWoken: boolean;
  /** When the wake or the suspension that is under way takes too long. */
  #endMs: number;
  #problem: string | undefined;
  #woke: Kept | undefined;

  constructor(deps: RefreshDeps, candidate: Candidate) {
    this.#deps = deps;
    this.#candidate = candidate;
    this.#wasWoken = isBegun(candidate.sandbox);
    this.#endMs = deps.clock.now() + deps.limitMs;
  }

  async run(): Promise<Outcome> {
    for (;;) {
      try {
        const sandbox = await this.#read();
        const view = this.#observe(sandbox);
        const step = decide(view);
        if (step.kind === 'end') return this.#end(step, sandbox);
        if (sandbox !== undefined) await this.#apply(step, { ...view, sandbox });
      } catch (error) {
        const why = this.#judge(error);
        if (why !== undefined) return { ...this.#key, woke: this.#woke, problem: why };
      }
      await this.#deps.clock.sleep(POLL_MS);
    }
  }

  get #key(): { readonly namespace: string; readonly name: string } {
    const { namespace = '', name = '' } = this.#candidate.sandbox.metadata;
    return { namespace, name };
  }

  /** A Sandbox of the same name is another one. */
  async #read(): Promise<Sandbox | undefined> {
    const found = await this.#deps.client.find(sandboxes, this.#key);
    return found?.metadata.uid === this.#candidate.sandbox.metadata.uid ? found : undefined;
  }

  #observe(sandbox: Sandbox | undefined): View {
    const { clock, signal, snapshots } = this.#deps;
    // A write that timed out may have been made.
    this.#wasWoken ||= sandbox !== undefined && isBegun(sandbox);
    const isLate = clock.now() >= this.#endMs;
    const isUnused = sandbox !== undefined && snapshots.listOf(sandbox).some(({ status }) => status?.phase === 'Ready');
    return { sandbox, isUnused, wasWoken: this.#wasWoken, isHurried: isLate || signal.aborted, isLate };
  }

  async #apply({ kind }: Step, { sandbox, isUnused, isLate }: View & { readonly sandbox: Sandbox }): Promise<void> {
    if (kind === 'wake') await this.#write(buildWakePatch(sandbox));
    if (kind === 'forget') await this.#write(buildForgetPatch(sandbox));
    if (kind !== 'sleep') return;
    await this.#write(buildSleepPatch(sandbox));
    const { clock, limitMs } = this.#deps;
    this.#endMs = clock.now() + limitMs;
    if (!isUnused) this.#woke = sandbox.status?.resumedFrom;
    if (isUnused || !isReady(sandbox)) this.#problem = isLate ? describeSlowWake(sandbox) : HURRIED;
  }

  async #write(patch: JsonObject): Promise<void> {
    await this.#deps.client.mergePatch(sandboxes, this.#key, patch);
  }

  /** A Sandbox that is awake must not stay so because the API server was away for a moment: what may pass is tried again. */
  #judge(error: unknown): string | undefined {
    if (!(error instanceof KubeError)) throw error;
    if (isConflict(error) || isNotFound(error)) return undefined;
    const { message } = error;
    const isOver = this.#deps.clock.now() >= this.#endMs + this.#deps.limitMs;
    return isOver || isForbidden(error) || isInvalid(error) ? message : undefined;
  }

  #end(step: Step & { kind: 'end' }, sandbox: Sandbox | undefined): Outcome {
    const ended = { ...this.#key, woke: this.#woke };
    if (step.how === 'left') return { ...ended, note: step.why };
    if (step.how === 'failed') return { ...ended, problem: step.why, isLost: true };
    if (step.how === 'untouched' || sandbox === undefined) return { ...ended, problem: INTERRUPTED };
    const sleeps = sandbox.status?.keeps ?? 'Volumes';
    const node = findNext(sandbox, this.#deps.snapshots)?.status?.nodeName;
    return { ...ended, sleeps, node, problem: this.#problem ?? findLoss(sleeps), isLost: sleeps !== 'Memory' };
  }
}

function describeSlowWake({ status }: Sandbox): string {
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  return `it was not awake in time, and sleeps again: ${ready?.message ?? 'its status does not say why'}`;
}

function findLoss(kept: Kept): string | undefined {
  if (kept === 'Memory') return undefined;
  return `its memory was not saved again, and its next wake begins with its ${kept.toLowerCase()}: see its Events`;
}

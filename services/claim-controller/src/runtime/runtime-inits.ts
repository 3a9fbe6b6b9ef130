import { isMadeByApi } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { done, requeueAfter } from '@sandlot/kube';
import type { KubeClient, ReconcileResult } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { envdAccessToken, tokenSubject } from '@sandlot/tenancy';
import { isDelivered, needsInit } from '../delivery/rules.ts';
import type { ClaimMetrics } from '../telemetry/metrics.ts';
import type { Pass } from '../plan/pass.ts';
import { RuntimeError } from './runtime-client.ts';
import type { RuntimeClient } from './runtime-client.ts';
import { envVarsOf, SecretProblem } from './secret-values.ts';
import { retryDelayMs, showsInitialised, startOf, uninitialised, uninitialisedView } from './start.ts';
import type { InitTries, Uninitialised } from './start.ts';

/** How the installation speaks to daemons in sandboxes. */
export interface RuntimeAccess {
  readonly client: RuntimeClient;
  /** From which access tokens are made. */
  readonly tokenKey: Uint8Array;
}

export interface RuntimeInitsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly metrics: Pick<ClaimMetrics, 'initialised'>;
  /** Absent: the installation has no keys, and no daemon can be initialised. */
  readonly access: RuntimeAccess | undefined;
}

/** What this process knows of one Sandbox: the start that was initialised, and the tries of one that was not. */
interface InitRecord {
  done?: string;
  tries?: InitTries;
}

const NONE: readonly Uninitialised[] = [];
const NO_KEYS = 'the installation has no keys for its runtime; see the chart value runtime.existingSecret';

/**
 * Which Sandboxes with a daemon have been told whom they serve. Lost with the process and never needed: claims show it, and
 * a daemon that is told twice is none the worse for it.
 */
export class RuntimeInits {
  readonly #deps: RuntimeInitsDeps;
  /** By UID of the Sandbox. */
  readonly #records = new Map<string, InitRecord>();

  constructor(deps: RuntimeInitsDeps) {
    this.#deps = deps;
  }

  /** The Sandbox as its claim may show it: not Ready before its daemon is initialised. */
  view(claim: SandboxClaim, sandbox: Sandbox): Sandbox {
    if (!needsInit(claim, sandbox) || !isReady(sandbox) || this.#isDone(claim, sandbox)) return sandbox;
    return uninitialisedView(sandbox, this.#triesOf(sandbox)?.message);
  }

  /** Those of the claim's Sandboxes whose daemon has to be initialised. */
  pending(claim: SandboxClaim, sandboxes: readonly Sandbox[]): readonly Uninitialised[] {
    if (!sandboxes.some((sandbox) => needsInit(claim, sandbox))) return NONE;
    const nowMs = this.#deps.clock.now();
    return sandboxes.flatMap((sandbox) => {
      if (!this.#isReachable(claim, sandbox) || this.#isDone(claim, sandbox)) return [];
      return [uninitialised(sandbox, this.#triesOf(sandbox), nowMs)];
    });
  }

  /** Initialises the daemon of a Sandbox that was just committed, if there is one and it can be reached already. */
  async commence(pass: Pass, sandbox: Sandbox): Promise<ReconcileResult> {
    const [due] = this.pending(pass.claim, [sandbox]);
    return due === undefined ? done : this.run(pass, due);
  }

  /**
   * One try, `runtime.init` in the trace of the claim. A failure is kept for whoever decides what becomes of it; the result
   * says when to try again.
   */
  async run(pass: Pass, { sandbox }: Uninitialised): Promise<ReconcileResult> {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonic();
    const attributes = { [spanAttributes.sandboxName]: sandbox.metadata.name ?? '' };
    try {
      await withChildSpan({ name: spanNames.runtimeInit, attributes }, () => this.#call(pass, sandbox));
    } catch (error) {
      if (pass.signal.aborted || !(error instanceof RuntimeError || error instanceof SecretProblem)) throw error;
      metrics.initialised('failed', clock.monotonic() - startMs);
      return requeueAfter(this.#failed(sandbox, error.message), 'the runtime of a Sandbox is not initialised');
    }
    metrics.initialised('ok', clock.monotonic() - startMs);
    this.#records.set(uidOf(sandbox), { done: startOf(sandbox) });
    return done;
  }

  async #call(pass: Pass, sandbox: Sandbox): Promise<void> {
    const { access, client } = this.#deps;
    if (access === undefined) throw new RuntimeError(NO_KEYS);
    const { claim, signal } = pass;
    await access.client.init({
      address: sandbox.status?.podIPs?.[0] ?? '',
      sandboxUid: uidOf(sandbox),
      claimUid: claim.metadata.uid ?? '',
      accessToken: envdAccessToken(access.tokenKey, tokenSubject(claim)),
      envVars: await envVarsOf({ client }, pass),
      // An id of the API is no secret: it is in the host names that users pass on.
      exec: !isMadeByApi(claim),
      signal,
    });
  }

  /** The Sandbox is gone. */
  forget(sandbox: Sandbox): void {
    this.#records.delete(uidOf(sandbox));
  }

  /** An image of the claim's own comes first: the container is started anew with it. */
  #isReachable(claim: SandboxClaim, sandbox: Sandbox): boolean {
    if (!needsInit(claim, sandbox) || !isReady(sandbox)) return false;
    return isDelivered(claim, sandbox) && (sandbox.status?.podIPs ?? []).length > 0;
  }

  /** What this process did rules; of what was before it the claim's status tells. */
  #isDone(claim: SandboxClaim, sandbox: Sandbox): boolean {
    const start = startOf(sandbox);
    const known = this.#records.get(uidOf(sandbox));
    if (known?.done !== undefined) return known.done === start;
    if (known !== undefined || !showsInitialised(claim, sandbox)) return false;
    this.#records.set(uidOf(sandbox), { done: start });
    return true;
  }

  #triesOf(sandbox: Sandbox): InitTries | undefined {
    const tries = this.#records.get(uidOf(sandbox))?.tries;
    return tries?.start === startOf(sandbox) ? tries : undefined;
  }

  #failed(sandbox: Sandbox, message: string): number {
    const nowMs = this.#deps.clock.now();
    const start = startOf(sandbox);
    const before = this.#triesOf(sandbox);
    const count = (before?.count ?? 0) + 1;
    const tries = { start, count, firstMs: before?.firstMs ?? nowMs, lastMs: nowMs, message };
    this.#records.set(uidOf(sandbox), { ...this.#records.get(uidOf(sandbox)), tries });
    return retryDelayMs(count);
  }
}

function uidOf({ metadata: { uid = '' } }: Sandbox): string {
  return uid;
}

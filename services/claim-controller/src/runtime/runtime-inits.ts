import { isMadeByApi } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { done, requeueAfter } from '@sandlot/kube';
import type { KubeClient, ReconcileResult } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { deriveEnvdAccessToken, formatTokenSubject } from '@sandlot/tenancy';
import { isDelivered, needsInit } from '../delivery/rules.ts';
import type { ClaimMetrics } from '../telemetry/metrics.ts';
import type { Pass } from '../plan/pass.ts';
import { RuntimeError } from './runtime-client.ts';
import type { RuntimeClient } from './runtime-client.ts';
import { readEnvVars, SecretProblem } from './secret-values.ts';
import { retryDelayMs, hasInitialised, startOf, uninitialised, getUninitialisedView } from './initialisation.ts';
import type { InitTries, Uninitialised } from './initialisation.ts';

/** How the installation speaks to daemons in sandboxes. */
export interface RuntimeAccess {
  readonly client: RuntimeClient;
  /** Derives the access tokens of sandboxes. */
  readonly tokenKey: Uint8Array;
}

export interface RuntimeInitsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly metrics: Pick<ClaimMetrics, 'observeInit'>;
  /** Absent: the installation has no keys, and no daemon can be initialised. */
  readonly access: RuntimeAccess | undefined;
}

/** Per Sandbox: the start whose daemon is initialised, and the failed tries of one whose daemon is not. */
interface InitRecord {
  done?: string;
  tries?: InitTries;
}

const NONE: readonly Uninitialised[] = [];
const NO_KEYS = 'the installation has no keys for its runtime; see the chart value runtime.existingSecret';

/**
 * The daemons that are initialised. Losing it with the process does no harm: the status of the claims shows
 * it too, and a daemon accepts a second initialisation.
 */
export class RuntimeInits {
  readonly #deps: RuntimeInitsDeps;
  /** By UID of the Sandbox. */
  readonly #records = new Map<string, InitRecord>();

  constructor(deps: RuntimeInitsDeps) {
    this.#deps = deps;
  }

  /**
   * Records the starts that the claim's status shows as initialised: an earlier process initialised them, and the claim may
   * stop showing it while the same start goes on.
   */
  recordShown(claim: SandboxClaim, sandboxes: readonly Sandbox[]): void {
    for (const sandbox of sandboxes) {
      if (!needsInit(claim, sandbox) || !isReady(sandbox) || this.#records.has(getUid(sandbox))) continue;
      if (hasInitialised(claim, sandbox)) this.#records.set(getUid(sandbox), { done: startOf(sandbox) });
    }
  }

  /** The Sandbox as its claim may show it: not Ready until its daemon is initialised. */
  viewOf(claim: SandboxClaim, sandbox: Sandbox): Sandbox {
    if (!needsInit(claim, sandbox) || !isReady(sandbox) || this.#isDone(claim, sandbox)) return sandbox;
    return getUninitialisedView(sandbox, this.#triesOf(sandbox)?.message);
  }

  /** Those of the claim's Sandboxes whose daemon has to be initialised. */
  uninitialisedOf(claim: SandboxClaim, sandboxes: readonly Sandbox[]): readonly Uninitialised[] {
    if (!sandboxes.some((sandbox) => needsInit(claim, sandbox))) return NONE;
    const nowMs = this.#deps.clock.now();
    return sandboxes.flatMap((sandbox) => {
      if (!isReachable(claim, sandbox) || this.#isDone(claim, sandbox)) return [];
      return [uninitialised(sandbox, this.#triesOf(sandbox), nowMs)];
    });
  }

  /** Initialises the daemon of a Sandbox that this pass committed, if there is one and it can be reached already. */
  async initCommitted(pass: Pass, sandbox: Sandbox): Promise<ReconcileResult> {
    const [due] = this.uninitialisedOf(pass.claim, [sandbox]);
    return due === undefined ? done : this.tryInit(pass, due);
  }

  /**
   * Tries once, as span `runtime.init` in the trace of the claim. Records a failure for the next decision; the result says
   * when to retry.
   */
  async tryInit(pass: Pass, { sandbox }: Uninitialised): Promise<ReconcileResult> {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonic();
    const attributes = { [spanAttributes.sandboxName]: sandbox.metadata.name ?? '' };
    try {
      await withChildSpan({ name: spanNames.runtimeInit, attributes }, () => this.#call(pass, sandbox));
    } catch (error) {
      if (pass.signal.aborted || !(error instanceof RuntimeError || error instanceof SecretProblem)) throw error;
      metrics.observeInit('failed', clock.monotonic() - startMs);
      return requeueAfter(this.#recordFailure(sandbox, error.message), 'the runtime of a Sandbox is not initialised');
    }
    metrics.observeInit('ok', clock.monotonic() - startMs);
    this.#records.set(getUid(sandbox), { done: startOf(sandbox) });
    return done;
  }

  async #call(pass: Pass, sandbox: Sandbox): Promise<void> {
    const { access, client } = this.#deps;
    if (access === undefined) throw new RuntimeError(NO_KEYS);
    const { claim, signal } = pass;
    await access.client.init({
      address: sandbox.status?.podIPs?.[0] ?? '',
      sandboxUid: getUid(sandbox),
      claimUid: claim.metadata.uid ?? '',
      accessToken: deriveEnvdAccessToken(access.tokenKey, formatTokenSubject(claim)),
      envVars: await readEnvVars({ client }, pass),
      // The API's sandbox ids are no secret: users share host names that contain them.
      exec: !isMadeByApi(claim),
      signal,
    });
  }

  /** The Sandbox is gone. */
  forget(sandbox: Sandbox): void {
    this.#records.delete(getUid(sandbox));
  }

  /** This process's own record counts first; what an earlier process did, only the claim's status shows. */
  #isDone(claim: SandboxClaim, sandbox: Sandbox): boolean {
    const known = this.#records.get(getUid(sandbox));
    if (known?.done !== undefined) return known.done === startOf(sandbox);
    return known === undefined && hasInitialised(claim, sandbox);
  }

  #triesOf(sandbox: Sandbox): InitTries | undefined {
    const tries = this.#records.get(getUid(sandbox))?.tries;
    return tries?.start === startOf(sandbox) ? tries : undefined;
  }

  #recordFailure(sandbox: Sandbox, message: string): number {
    const nowMs = this.#deps.clock.now();
    const start = startOf(sandbox);
    const before = this.#triesOf(sandbox);
    const count = (before?.count ?? 0) + 1;
    const tries = { start, count, firstMs: before?.firstMs ?? nowMs, lastMs: nowMs, message };
    this.#records.set(getUid(sandbox), { ...this.#records.get(getUid(sandbox)), tries });
    return retryDelayMs(count);
  }
}

/** After the image of the claim's own is in place: the change of the image restarts the container. */
function isReachable(claim: SandboxClaim, sandbox: Sandbox): boolean {
  if (!needsInit(claim, sandbox) || !isReady(sandbox)) return false;
  return isDelivered(claim, sandbox) && (sandbox.status?.podIPs ?? []).length > 0;
}

function getUid({ metadata: { uid = '' } }: Sandbox): string {
  return uid;
}

import { findSandboxId, getTemplateId, isMadeByApi, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { done, getKey, requeueAfter } from '@sandlot/kube';
import type { KubeClient, ReconcileResult } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { deriveEnvdAccessToken, formatTokenSubject } from '@sandlot/tenancy';
import type { EgressProofs, TokenKeys } from '@sandlot/tenancy';
import { isDelivered, needsInit } from '../delivery/rules.ts';
import type { ClaimMetrics } from '../telemetry/metrics.ts';
import type { Pass } from '../plan/pass.ts';
import { getPublishedName } from '../publish/status.ts';
import { InitCalls } from './init-calls.ts';
import type { InitCallEnd, InitOrder } from './init-calls.ts';
import { RuntimeError, UnknownKeyError } from './runtime-client.ts';
import type { InitCall, RuntimeClient } from './runtime-client.ts';
import { getFirstContainerVariables } from './claim-env.ts';
import { readEnvVars, SecretProblem } from './secret-values.ts';
import { retryDelayMs, hasInitialised, nextTryInMs, formatStart, getUninitialisedView } from './initialisation.ts';
import type { InitTries, Uninitialised } from './initialisation.ts';

/** How the installation speaks to daemons in sandboxes. */
export interface RuntimeAccess {
  readonly client: RuntimeClient;
  /** Derive the access tokens of sandboxes. */
  readonly tokenKeys: TokenKeys;
  /** Derive what sandboxes prove themselves by to the egress proxy; undefined: the installation has no header rules. */
  readonly egressProofs?: EgressProofs | undefined;
}

export interface RuntimeInitsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<ClaimMetrics, 'observeInit'>;
  /** Where the API stores the variables of its sandboxes; undefined: this installation runs no API. */
  readonly envsNamespace?: string | undefined;
  /** Absent: the installation has no keys, and no daemon can be initialised. */
  readonly access: RuntimeAccess | undefined;
  /** The claim of this key needs a pass. */
  readonly enqueue: (claimKey: string) => void;
  /** Whether this process reconciles. */
  readonly isLeading: (claim: SandboxClaim) => boolean;
}

/** Per Sandbox: the start whose daemon is initialised, and the failed tries of one whose daemon is not. */
interface InitRecord {
  done?: string;
  tries?: InitTries;
}

const NONE: readonly Uninitialised[] = [];
const NO_KEYS = 'the installation has no keys for its runtime; see the chart value runtime.existingSecret';
const NO_SECRETS = 'the API server did not answer when its variables were read from Secrets';

/**
 * How long the first status of a claim may wait for the first answer of its daemon: most daemons answer before, which saves
 * the write that shows the Sandbox not Ready.
 */
const QUIET_MS = 1_000;

/**
 * The daemons that are initialised, and the calls under way. Losing both with the process does no harm: the status of the
 * claims shows what is initialised, and a daemon accepts a second initialisation.
 */
export class RuntimeInits {
  readonly #deps: RuntimeInitsDeps;
  readonly #calls: InitCalls;
  /** By UID of the Sandbox. */
  readonly #records = new Map<string, InitRecord>();

  constructor(deps: RuntimeInitsDeps) {
    this.#deps = deps;
    const call = (order: InitOrder): Promise<void> => this.#call(order);
    this.#calls = new InitCalls({ ...deps, call, onEnd: (end) => this.#end(end) });
  }

  /**
   * Records the starts that the claim's status shows as initialised: an earlier process initialised them, and the claim may
   * stop showing it while the same start goes on.
   */
  recordShown(claim: SandboxClaim, sandboxes: readonly Sandbox[]): void {
    for (const sandbox of sandboxes) {
      if (!needsInit(claim, sandbox) || !isReady(sandbox) || this.#records.has(getUid(sandbox))) continue;
      if (hasInitialised(claim, sandbox)) this.#records.set(getUid(sandbox), { done: formatStart(sandbox) });
    }
  }

  /** The Sandbox as its claim may show it: not Ready until its daemon is initialised. */
  buildView(claim: SandboxClaim, sandbox: Sandbox): Sandbox {
    if (!needsInit(claim, sandbox) || !isReady(sandbox) || this.#isDone(claim, sandbox)) return sandbox;
    return getUninitialisedView(sandbox, this.#findTries(sandbox)?.message);
  }

  /** Those of the claim's Sandboxes whose daemon has to be initialised. */
  listUninitialised(claim: SandboxClaim, sandboxes: readonly Sandbox[]): readonly Uninitialised[] {
    if (!sandboxes.some((sandbox) => needsInit(claim, sandbox))) return NONE;
    const nowMs = this.#deps.clock.now();
    return sandboxes.flatMap((sandbox): readonly Uninitialised[] => {
      if (!isReachable(claim, sandbox) || this.#isDone(claim, sandbox)) return [];
      const tries = this.#findTries(sandbox);
      const isCalling = this.#calls.find(sandbox) !== undefined;
      return [{ sandbox, tries, inMs: nextTryInMs(tries, nowMs), isCalling }];
    });
  }

  /**
   * Milliseconds for which a claim that does not show this Sandbox yet still waits for the daemon's first answer before it
   * does; undefined when it need not wait.
   */
  findQuietMs(claim: SandboxClaim, sandbox: Sandbox): number | undefined {
    const call = this.#calls.find(sandbox);
    if (call === undefined || this.#findTries(sandbox) !== undefined) return undefined;
    if (getPublishedName(claim) === sandbox.metadata.name) return undefined;
    const leftMs = call.sinceMs + QUIET_MS - this.#deps.clock.monotonic();
    return leftMs > 0 ? leftMs : undefined;
  }

  /** Initialises the daemon of a Sandbox that this pass committed, if there is one and it can be reached already. */
  async initCommitted(pass: Pass, sandbox: Sandbox): Promise<ReconcileResult> {
    const [due] = this.listUninitialised(pass.claim, [sandbox]);
    return due === undefined || due.isCalling ? done : this.tryInit(pass, due);
  }

  /**
   * Starts one try, as span `runtime.init` in the trace of the claim, and waits for it only a moment: the end of a longer
   * try enqueues the claim. The result says when to retry one that has failed already.
   */
  async tryInit(pass: Pass, { sandbox, tries }: Uninitialised): Promise<ReconcileResult> {
    const { claim, signal, secrets } = pass;
    const order = { claim, sandbox, secrets, start: formatStart(sandbox) };
    // Only a first try is worth the time of a worker: after a failed one the claim is shown not Ready already.
    const isOver = await this.#calls.start(order, { isAwaited: tries === undefined, signal });
    const failed = isOver ? this.#findTries(sandbox) : undefined;
    return failed === undefined
      ? done
      : requeueAfter(retryDelayMs(failed.count), 'the runtime of a Sandbox is not initialised');
  }

  async #call({ claim, sandbox, secrets = new Map(), signal }: InitOrder): Promise<void> {
    const { access, client, envsNamespace } = this.#deps;
    if (access === undefined) throw new RuntimeError(NO_KEYS);
    await access.client.init({
      address: sandbox.status?.podIPs?.[0] ?? '',
      identity: sandbox.status?.runtime?.identity,
      sandboxUid: getUid(sandbox),
      claimUid: claim.metadata.uid ?? '',
      accessToken: deriveEnvdAccessToken(access.tokenKeys.of(claim), formatTokenSubject(claim)),
      envVars: {
        ...getFirstContainerVariables(claim, sandbox),
        ...(await readEnvVars({ client, envsNamespace }, { claim, secrets, signal })),
      },
      names: findNames(claim),
      // The API's sandbox ids are no secret: users share host names that contain them.
      exec: !isMadeByApi(claim),
      egressProof: findEgressProof(access, claim, sandbox),
      signal,
    });
  }

  /** Records the end of a try for the next decision. */
  #end({ order: { claim, sandbox, start }, ms, error }: InitCallEnd): void {
    const { log, metrics } = this.#deps;
    metrics.observeInit(error === undefined ? 'ok' : 'failed', ms);
    if (error === undefined) {
      this.#records.set(getUid(sandbox), { done: start });
      return;
    }
    const isExpected = error instanceof RuntimeError || error instanceof SecretProblem;
    if (!isExpected) log.warn({ err: error, claim: getKey(claim) }, 'the variables of a claim could not be read');
    const message = isExpected ? error.message : NO_SECRETS;
    this.#recordFailure(sandbox, { start, message, isRefused: error instanceof UnknownKeyError });
  }

  /** The claim needs the Sandbox no more, or the Sandbox is gone. */
  forget(sandbox: Sandbox): void {
    this.#calls.abort(sandbox);
    this.#records.delete(getUid(sandbox));
  }

  /** Ends all calls. */
  [Symbol.dispose](): void {
    this.#calls[Symbol.dispose]();
  }

  /** This process's own record counts first; what an earlier process did, only the claim's status shows. */
  #isDone(claim: SandboxClaim, sandbox: Sandbox): boolean {
    const known = this.#records.get(getUid(sandbox));
    if (known?.done !== undefined) return known.done === formatStart(sandbox);
    return known === undefined && hasInitialised(claim, sandbox);
  }

  #findTries(sandbox: Sandbox): InitTries | undefined {
    const tries = this.#records.get(getUid(sandbox))?.tries;
    return tries?.start === formatStart(sandbox) ? tries : undefined;
  }

  #recordFailure(sandbox: Sandbox, failure: Pick<InitTries, 'start' | 'message' | 'isRefused'>): void {
    const nowMs = this.#deps.clock.now();
    const known = this.#records.get(getUid(sandbox));
    const before = known?.tries?.start === failure.start ? known.tries : undefined;
    const count = (before?.count ?? 0) + 1;
    const tries = { ...failure, count, firstMs: before?.firstMs ?? nowMs, lastMs: nowMs };
    this.#records.set(getUid(sandbox), { ...known, tries });
  }
}

/** After the image of the claim's own is in place: the change of the image restarts the container. */
function isReachable(claim: SandboxClaim, sandbox: Sandbox): boolean {
  if (!needsInit(claim, sandbox) || !isReady(sandbox)) return false;
  return isDelivered(claim, sandbox) && (sandbox.status?.podIPs ?? []).length > 0;
}

/** What programs in a sandbox of the API find out about it. */
function findNames(claim: SandboxClaim): InitCall['names'] {
  const id = findSandboxId(claim);
  return id === undefined ? undefined : { id, template: getTemplateId(claim) };
}

/** A sandbox gets it whether its claim has rules or not: a client may add some while it runs. */
function findEgressProof({ egressProofs }: RuntimeAccess, claim: SandboxClaim, sandbox: Sandbox): string | undefined {
  if (sandbox.metadata.labels?.[labels.egress] === undefined) return undefined;
  return egressProofs?.derive({ sandboxUid: getUid(sandbox), claimUid: claim.metadata.uid ?? '' });
}

function getUid({ metadata: { uid = '' } }: Sandbox): string {
  return uid;
}

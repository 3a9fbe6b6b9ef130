import { hasSignOfPool, isMadeByApi, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { Bus } from '@sandlot/bus';
import { createOwnWrites, parseKey } from '@sandlot/kube';
import type { KubeClient, ObjectKey, OwnWrites } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import type { Informers } from '../wiring/informers.ts';
import { isOfRunningBuild } from './of-running-build.ts';
import { Waiters } from './waiters.ts';

export interface ClusterStateOptions {
  readonly client: Pick<KubeClient, 'find'>;
  readonly bus: Pick<Bus, 'onHint'>;
  readonly informers: Pick<Informers, 'claims' | 'sandboxes'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A claim, and its Sandbox once the claim names one. */
export interface ClaimedSandbox {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox | undefined;
}

export interface WaitLimits {
  readonly timeoutMs: number;
  /** Ends the wait early, without a result. */
  readonly signal?: AbortSignal | undefined;
}

const claimKey = (key: string): string => `claim/${key}`;
const formatSandboxKey = (key: string): string => `sandbox/${key}`;

/** Claims and Sandboxes as this replica knows them, its own writes included, and how to wait for a change of them. */
export class ClusterState {
  readonly claims: OwnWrites<SandboxClaim>;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly waiters: Waiters;
  readonly #client: Pick<KubeClient, 'find'>;
  readonly #hints: readonly Disposable[];
  readonly #log: Logger;

  constructor({ client, bus, informers, clock, log }: ClusterStateOptions) {
    this.#client = client;
    this.#log = log;
    this.waiters = new Waiters(clock);
    const onClaim = (key: string): void => this.#reread(claimKey(key), () => this.readClaim(parseKey(key)));
    const onSandbox = (key: string): void => this.#reread(formatSandboxKey(key), () => this.readSandbox(parseKey(key)));
    // Registered before the waiters, so that a waiter that looks on a watch event sees the event.
    this.claims = createOwnWrites({ informer: informers.claims, clock, onDoubt: onClaim });
    this.sandboxes = createOwnWrites({ informer: informers.sandboxes, clock, onDoubt: onSandbox });
    informers.claims.onChange(({ key }) => this.waiters.notify(claimKey(key)));
    informers.sandboxes.onChange(({ key }) => this.waiters.notify(formatSandboxKey(key)));
    // A hint on the bus usually comes first, and the watch always comes. A waiter looks again on each of them.
    this.#hints = [
      bus.onHint('claim.bound', ({ data }) => this.#onHint(claimKey, data, (key) => this.readClaim(key))),
      bus.onHint('claim.failed', ({ data }) => this.#onHint(claimKey, data, (key) => this.readClaim(key))),
      bus.onHint('sandbox.suspended', ({ data }) =>
        this.#onHint(formatSandboxKey, data, (key) => this.readSandbox(key)),
      ),
    ];
  }

  /**
   * The claim with that sandbox id and its Sandbox; undefined if the API made no such claim or it is being deleted. Reads from
   * the API server what the informers do not have yet, and both objects if `isCurrent` doubts what the informers have. Rejects
   * with a KubeError.
   */
  async findSandbox(
    namespace: string,
    id: string,
    isCurrent: (claimed: ClaimedSandbox) => boolean = () => true,
  ): Promise<ClaimedSandbox | undefined> {
    const cached = this.claims.get(`${namespace}/${id}`);
    if (cached !== undefined) {
      const known = await this.#withSandboxOf(cached);
      if (known === undefined || isCurrent(known)) return known;
    }
    const claim = await this.readClaim({ namespace, name: id });
    return claim === undefined ? undefined : this.#withSandboxOf(claim, { reads: cached !== undefined });
  }

  /** Adds the Sandbox of a claim, without asking the API server. */
  withSandbox(claim: SandboxClaim): ClaimedSandbox {
    const key = findSandboxKey(claim);
    return { claim, sandbox: key === undefined ? undefined : this.sandboxes.get(key) };
  }

  /**
   * Waits until `look` returns a value. `look` gets the current claim and Sandbox, or undefined once the claim is gone; a throw
   * ends the wait. Resolves with undefined on timeout or abort.
   */
  async waitUntil<T>(
    { claim, sandbox }: ClaimedSandbox,
    look: (current: ClaimedSandbox | undefined) => T | undefined,
    limits: WaitLimits,
  ): Promise<T | undefined> {
    const key = `${claim.metadata.namespace ?? ''}/${claim.metadata.name ?? ''}`;
    const name = findSandboxKey(claim) ?? (sandbox === undefined ? undefined : formatKey(sandbox));
    const keys = [claimKey(key), ...(name === undefined ? [] : [formatSandboxKey(name)])];
    return this.waiters.waitUntil({
      ...limits,
      keys,
      look: () => {
        const current = this.claims.get(key);
        return look(current === undefined ? undefined : this.withSandbox(current));
      },
    });
  }

  /** Reads the claim from the API server; undefined if there is none, or if a build runs in it. */
  async readClaim(key: ObjectKey): Promise<SandboxClaim | undefined> {
    const name = `${key.namespace ?? ''}/${key.name}`;
    return this.claims.read(name, async () => {
      const found = await this.#client.find(sandboxClaims, key);
      return found === undefined || isOfRunningBuild(found) ? undefined : found;
    });
  }

  /** Reads the Sandbox from the API server; undefined if there is none. */
  async readSandbox(key: ObjectKey): Promise<Sandbox | undefined> {
    const name = `${key.namespace ?? ''}/${key.name}`;
    return this.sandboxes.read(name, () => this.#client.find(sandboxes, key));
  }

  close(): void {
    for (const hint of this.#hints) hint[Symbol.dispose]();
    this.claims[Symbol.dispose]();
    this.sandboxes[Symbol.dispose]();
  }

  /** Undefined for a claim that is no sandbox of the API. `reads` ignores the informer of Sandboxes. */
  async #withSandboxOf(claim: SandboxClaim, { reads = false } = {}): Promise<ClaimedSandbox | undefined> {
    if (!isMadeByApi(claim) || claim.metadata.deletionTimestamp !== undefined) return undefined;
    const key = findSandboxKey(claim);
    if (key === undefined) return { claim, sandbox: undefined };
    const cached = reads ? undefined : this.sandboxes.get(key);
    // The watch may show the claim's status before it shows the adoption, which also brings the lifecycle fields.
    if (cached !== undefined && !hasSignOfPool(cached)) return { claim, sandbox: cached };
    return { claim, sandbox: await this.readSandbox(parseKey(key)) };
  }

  #onHint(
    keyOf: (key: string) => string,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    read: (key: ObjectKey) => Promise<unknown>,
  ): void {
    this.#reread(keyOf(`${namespace}/${name}`), () => read({ namespace, name }));
  }

  /** Reads an object again if a request waits for it: its last change may have happened without a watch event to come. */
  #reread(key: string, read: () => Promise<unknown>): void {
    this.waiters.notify(key);
    if (!this.waiters.isAwaited(key)) return;
    read().then(
      () => this.waiters.notify(key),
      (err: unknown) => this.#log.debug({ err, key }, 'could not read an awaited object again; waiting for its watch'),
    );
  }
}

/** `namespace/name` of the Sandbox in the claim's status. */
function findSandboxKey({ metadata, status }: SandboxClaim): string | undefined {
  const name = status?.sandbox?.name;
  return name === undefined || name === '' ? undefined : `${metadata.namespace ?? ''}/${name}`;
}

function formatKey({ metadata }: Sandbox): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

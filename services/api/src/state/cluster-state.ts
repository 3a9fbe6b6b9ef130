import { isMadeByApi, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { Bus } from '@sandlot/bus';
import { isNotFound, parseKey } from '@sandlot/kube';
import type { KubeClient, ObjectKey } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import type { Cache } from '../wiring/informers.ts';
import { Fresh } from './fresh.ts';
import { Waits } from './waits.ts';

export interface WorldDeps {
  readonly client: KubeClient;
  readonly bus: Pick<Bus, 'onHint'>;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A claim of the API and, once it names one, the Sandbox that serves it. */
export interface Held {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox | undefined;
}

const claimKey = (key: string): string => `claim/${key}`;
const sandboxKey = (key: string): string => `sandbox/${key}`;

/** What is known of claims and Sandboxes, and how to wait for it to change. */
export class World {
  readonly claims: Fresh<SandboxClaim>;
  readonly sandboxes: Fresh<Sandbox>;
  readonly waits: Waits;
  readonly clock: Clock;
  readonly client: KubeClient;
  readonly #hints: readonly Disposable[];
  readonly #log: Logger;

  constructor({ client, bus, cache, clock, log }: WorldDeps) {
    this.client = client;
    this.clock = clock;
    this.#log = log;
    this.waits = new Waits(clock);
    const onClaim = (key: string): void => this.#doubted(claimKey(key), () => this.readClaim(parseKey(key)));
    const onSandbox = (key: string): void => this.#doubted(sandboxKey(key), () => this.readSandbox(parseKey(key)));
    this.claims = new Fresh({ informer: cache.claims, clock, onDoubt: onClaim });
    this.sandboxes = new Fresh({ informer: cache.sandboxes, clock, onDoubt: onSandbox });
    cache.claims.onChange(({ key }) => this.waits.touch(claimKey(key)));
    cache.sandboxes.onChange(({ key }) => this.waits.touch(sandboxKey(key)));
    // The bus is early, the watch is sure: whoever waits looks again at whichever comes first.
    this.#hints = [
      bus.onHint('claim.bound', ({ data }) => this.#hinted(claimKey, data, (key) => this.readClaim(key))),
      bus.onHint('claim.failed', ({ data }) => this.#hinted(claimKey, data, (key) => this.readClaim(key))),
      bus.onHint('sandbox.suspended', ({ data }) => this.#hinted(sandboxKey, data, (key) => this.readSandbox(key))),
    ];
  }

  /** The claim of that sandbox id in the namespace, live if the watch does not know it; undefined when there is none. */
  async find(namespace: string, id: string): Promise<Held | undefined> {
    const key = `${namespace}/${id}`;
    const claim = this.claims.get(key) ?? (await this.readClaim({ namespace, name: id }));
    if (claim === undefined || !isMadeByApi(claim) || claim.metadata.deletionTimestamp !== undefined) {
      return undefined;
    }
    return { claim, sandbox: await this.#sandboxOf(claim) };
  }

  /** As far as it is known without asking the API server. */
  held(claim: SandboxClaim): Held {
    const key = sandboxNameOf(claim);
    return { claim, sandbox: key === undefined ? undefined : this.sandboxes.get(key) };
  }

  /** Waits until `look` finds what it wants in the claim and its Sandbox, undefined once they are gone; or time is over. */
  async settle<T>(
    { claim, sandbox }: Held,
    look: (held: Held | undefined) => T | undefined,
    limits: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<T | undefined> {
    const key = `${claim.metadata.namespace ?? ''}/${claim.metadata.name ?? ''}`;
    const name = sandboxNameOf(claim) ?? (sandbox === undefined ? undefined : keyText(sandbox));
    const keys = [claimKey(key), ...(name === undefined ? [] : [sandboxKey(name)])];
    return this.waits.until({
      ...limits,
      keys,
      look: () => {
        const current = this.claims.get(key);
        return look(current === undefined ? undefined : this.held(current));
      },
    });
  }

  /** The claim as the API server has it now; undefined when there is none. */
  async readClaim(key: ObjectKey): Promise<SandboxClaim | undefined> {
    const name = `${key.namespace ?? ''}/${key.name}`;
    return orNothing(this.claims.read(name, () => this.client.get(sandboxClaims, key)));
  }

  /** The Sandbox as the API server has it now; undefined when there is none. */
  async readSandbox(key: ObjectKey): Promise<Sandbox | undefined> {
    const name = `${key.namespace ?? ''}/${key.name}`;
    return orNothing(this.sandboxes.read(name, () => this.client.get(sandboxes, key)));
  }

  close(): void {
    for (const hint of this.#hints) hint[Symbol.dispose]();
    this.claims.close();
    this.sandboxes.close();
  }

  async #sandboxOf(claim: SandboxClaim): Promise<Sandbox | undefined> {
    const key = sandboxNameOf(claim);
    if (key === undefined) return undefined;
    return this.sandboxes.get(key) ?? (await this.readSandbox(parseKey(key)));
  }

  #hinted(
    keyed: (key: string) => string,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    read: (key: ObjectKey) => Promise<unknown>,
  ): void {
    this.#doubted(keyed(`${namespace}/${name}`), () => read({ namespace, name }));
  }

  /** What is known of it may not be the last: whoever waits for it must not wait for a change that has been. */
  #doubted(key: string, read: () => Promise<unknown>): void {
    this.waits.touch(key);
    if (!this.waits.isAwaited(key)) return;
    read().then(
      () => this.waits.touch(key),
      (err: unknown) => this.#log.debug({ err, key }, 'it could not be read again; the watch will tell'),
    );
  }
}

/** `namespace/name` of the Sandbox that a claim shows. */
function sandboxNameOf({ metadata, status }: SandboxClaim): string | undefined {
  const name = status?.sandbox?.name;
  return name === undefined || name === '' ? undefined : `${metadata.namespace ?? ''}/${name}`;
}

function keyText({ metadata }: Sandbox): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

async function orNothing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

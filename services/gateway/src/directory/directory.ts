import { labels, sandboxClaims, sandboxes, findSandboxId } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { pacing } from '@sandlot/pacing';
import { TokenBucket } from '@sandlot/std';
import type { Change, KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { BY_ID, BY_UID, reduceClaim, reduceSandbox } from '../wiring/informers.ts';
import type { Informers } from '../wiring/informers.ts';
import { findHolder, findOwningClaim } from './ownership.ts';
import { queryKey } from './query.ts';
import type { Query } from './query.ts';
import type { SandboxSnapshot } from './snapshot.ts';

/** How long after an answer of the API server the caches count again. */
const ANSWER_COUNTS_MS = 1_000;
const MAX_ANSWERS = 10_000;
const REQUEST_LIMIT_MS = 3_000;

/** `unsure`: the API server was not asked, or did not answer. */
export type LiveSnapshot = SandboxSnapshot | 'unsure';

export interface DirectoryOptions {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly namespace: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onLookup: (result: 'found' | 'missing' | 'unsure') => void;
}

/** Finds the sandbox that a request asks for: in the caches, or at the API server when the caches may lag behind. */
export class Directory {
  readonly #o: DirectoryOptions;
  readonly #rate = new TokenBucket(pacing.gatewayLookups);
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #asking = new Map<string, Promise<LiveSnapshot>>();
  /** By query key: until when an answer of the API server counts. */
  readonly #answered = new Map<string, number>();

  constructor(options: DirectoryOptions) {
    this.#o = options;
    options.informers.claims.onChange((change) => this.#onClaimChange(change));
    options.informers.sandboxes.onChange(({ old, next }) => this.#onSandboxChange(next ?? old));
  }

  hasSynced(): boolean {
    const { claims, sandboxes: all } = this.#o.informers;
    return claims.hasSynced() && all.hasSynced();
  }

  /** Looks a sandbox up in the caches. */
  find(query: Query): SandboxSnapshot {
    const { claims, sandboxes: all } = this.#o.informers;
    if (query.by === 'name') return this.#snapshotOf(all.store.get(`${query.namespace}/${query.name}`), query.uid);
    const claim = findHolder(claims.store.listByIndex(BY_ID, query.id));
    return { claim, sandbox: claim === undefined ? undefined : findSandbox(claim, (key) => all.store.get(key)) };
  }

  /** Calls `changed` whenever {@link find} may return something else for the query, until disposed of. */
  watch(query: Query, changed: () => void): Disposable {
    const key = queryKey(query);
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(changed));
    return {
      [Symbol.dispose]: () => {
        watchers.delete(changed);
        if (watchers.size === 0 && this.#watchers.get(key) === watchers) this.#watchers.delete(key);
      },
    };
  }

  /**
   * Looks a sandbox up at the API server, because a client may know of a write before the watches show it. Concurrent calls for
   * the same query share the answer; for a second after it, the caches answer.
   */
  findLive(query: Query): Promise<LiveSnapshot> {
    const key = queryKey(query);
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    if (this.#wasAnswered(key)) return Promise.resolve(this.find(query));
    if (this.#rate.take(this.#o.clock.monotonic(), 0) > 0) {
      this.#o.onLookup('unsure');
      return Promise.resolve('unsure');
    }
    const answer = this.#ask(query).finally(() => this.#asking.delete(key));
    this.#asking.set(key, answer);
    return answer;
  }

  /** The claim that owns a Sandbox, if the cache has it. */
  claimOf(sandbox: Sandbox): SandboxClaim | undefined {
    const owner = findOwningClaim(sandbox);
    if (owner === undefined) return undefined;
    const [claim] = this.#o.informers.claims.store.listByIndex(BY_UID, owner.uid);
    return claim;
  }

  async #ask(query: Query): Promise<LiveSnapshot> {
    try {
      const snapshot = await (query.by === 'id' ? this.#askById(query.id) : this.#askByName(query));
      const isFound = snapshot.claim !== undefined || snapshot.sandbox !== undefined;
      this.#o.onLookup(isFound ? 'found' : 'missing');
      this.#recordAnswer(queryKey(query));
      return snapshot;
    } catch (err) {
      this.#o.log.warn({ err, query }, 'the API server could not be asked about a sandbox');
      this.#o.onLookup('unsure');
      return 'unsure';
    }
  }

  async #askById(id: string): Promise<SandboxSnapshot> {
    const { client, namespace } = this.#o;
    const labelSelector = `${labels.sandboxId}=${id}`;
    const { items } = await client.list(sandboxClaims, { labelSelector, namespace, deadlineMs: REQUEST_LIMIT_MS });
    const claim = findHolder(items.filter((item) => findSandboxId(item) !== undefined).map(reduceClaim));
    const key = claim === undefined ? undefined : findSandboxKey(claim);
    const sandbox = key === undefined ? undefined : await this.#getSandbox(key);
    return { claim, sandbox: claim === undefined ? undefined : findSandbox(claim, () => sandbox) };
  }

  async #askByName({ namespace, name, uid }: Extract<Query, { by: 'name' }>): Promise<SandboxSnapshot> {
    if (this.#o.namespace !== undefined && namespace !== this.#o.namespace) return NOTHING;
    const sandbox = await this.#getSandbox({ namespace, name });
    if (sandbox === undefined || (uid !== undefined && sandbox.metadata.uid !== uid)) return NOTHING;
    const owner = findOwningClaim(sandbox);
    const claim = owner === undefined ? undefined : await this.#getClaim({ namespace, name: owner.name });
    return { claim: claim?.metadata.uid === owner?.uid ? claim : undefined, sandbox };
  }

  async #getSandbox(key: ObjectKey): Promise<Sandbox | undefined> {
    const sandbox = await this.#o.client.find(sandboxes, key, { deadlineMs: REQUEST_LIMIT_MS });
    return sandbox === undefined ? undefined : reduceSandbox(sandbox);
  }

  async #getClaim(key: ObjectKey): Promise<SandboxClaim | undefined> {
    const claim = await this.#o.client.find(sandboxClaims, key, { deadlineMs: REQUEST_LIMIT_MS });
    return claim === undefined ? undefined : reduceClaim(claim);
  }

  #snapshotOf(sandbox: Sandbox | undefined, uid: string | undefined): SandboxSnapshot {
    if (sandbox === undefined || (uid !== undefined && sandbox.metadata.uid !== uid)) return NOTHING;
    return { claim: this.claimOf(sandbox), sandbox };
  }

  #wasAnswered(key: string): boolean {
    const untilMs = this.#answered.get(key);
    return untilMs !== undefined && untilMs > this.#o.clock.monotonic();
  }

  /** Bounded: the oldest answer goes first. */
  #recordAnswer(key: string): void {
    this.#answered.delete(key);
    this.#answered.set(key, this.#o.clock.monotonic() + ANSWER_COUNTS_MS);
    if (this.#answered.size <= MAX_ANSWERS) return;
    const [oldest] = this.#answered.keys();
    if (oldest !== undefined) this.#answered.delete(oldest);
  }

  #onClaimChange({ old, next }: Change<SandboxClaim>): void {
    for (const claim of [old, next]) {
      if (claim === undefined) continue;
      const key = findSandboxKey(claim);
      this.#notify(findSandboxId(claim));
      if (key !== undefined) this.#notify(`${key.namespace}/${key.name}`);
    }
  }

  #onSandboxChange(sandbox: Sandbox | undefined): void {
    if (sandbox === undefined) return;
    const { namespace = '', name = '' } = sandbox.metadata;
    this.#notify(`${namespace}/${name}`);
    const claim = this.claimOf(sandbox);
    if (claim !== undefined) this.#notify(findSandboxId(claim));
  }

  #notify(key: string | undefined): void {
    const watchers = key === undefined ? undefined : this.#watchers.get(key);
    if (watchers !== undefined) for (const changed of [...watchers]) changed();
  }
}

interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

const NOTHING: SandboxSnapshot = { claim: undefined, sandbox: undefined };

function findSandboxKey({ metadata: { namespace = '' }, status }: SandboxClaim): ObjectKey | undefined {
  const name = status?.sandbox?.name;
  return name === undefined || name === '' ? undefined : { namespace, name };
}

/** The Sandbox that the claim's status names, if the claim owns it: the name may belong to another owner's Sandbox by now. */
function findSandbox(claim: SandboxClaim, get: (key: string) => Sandbox | undefined): Sandbox | undefined {
  const key = findSandboxKey(claim);
  const sandbox = key === undefined ? undefined : get(`${key.namespace}/${key.name}`);
  return sandbox !== undefined && findOwningClaim(sandbox)?.uid === claim.metadata.uid ? sandbox : undefined;
}

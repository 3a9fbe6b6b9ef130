import { sandboxClaims, sandboxes, findSandboxId } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { pacing } from '@sandlot/pacing';
import type { Change, KubeClient } from '@sandlot/kube';
import { isServed } from '@sandlot/service';
import type { ServedNamespaces } from '@sandlot/service';
import type { Clock, Logger } from '@sandlot/std';
import { ExpiringMap } from '../limits/expiring-map.ts';
import { RateShares } from '../limits/rate-shares.ts';
import { BY_ID, BY_UID, reduceClaim, reduceSandbox } from '../wiring/informers.ts';
import type { Informers } from '../wiring/informers.ts';
import { findHolder, findOwningClaim } from './ownership.ts';
import { queryKey } from './query.ts';
import type { Query } from './query.ts';
import type { SandboxSnapshot } from './snapshot.ts';
import { UnknownIds } from './unknown-ids.ts';

/** How long after an answer of the API server the caches count again. */
const ANSWER_COUNTS_MS = 1_000;
const MAX_ANSWERS = 10_000;
const REQUEST_LIMIT_MS = 3_000;

/** `unsure`: the API server was not asked, or did not answer. `limited`: the source has had its share of such questions. */
export type LiveSnapshot = SandboxSnapshot | 'unsure' | 'limited';

export const LOOKUP_RESULTS = ['found', 'missing', 'unsure', 'limited'] as const;
export type LookupResult = (typeof LOOKUP_RESULTS)[number];

export interface DirectoryOptions {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly namespaces: ServedNamespaces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onLookup: (result: LookupResult) => void;
}

/** Finds the sandbox that a request asks for: in the caches, which may lag behind, and then by name at the API server. */
export class Directory {
  readonly #o: DirectoryOptions;
  readonly #rates: RateShares;
  readonly #unknownIds: UnknownIds;
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #asking = new Map<string, Promise<LiveSnapshot>>();
  /** Query keys for which an answer of the API server counts. */
  readonly #answered = new ExpiringMap<true>(MAX_ANSWERS);

  constructor(options: DirectoryOptions) {
    this.#o = options;
    const { perSecond, burst, sourcePerSecond, sourceBurst } = pacing.gatewayLookups;
    const perSource = { perSecond: sourcePerSecond, burst: sourceBurst };
    this.#rates = new RateShares({ perSource, total: { perSecond, burst } });
    this.#unknownIds = new UnknownIds({
      clock: options.clock,
      hasId: (id) => this.#hasId(id),
      watch: (id, changed) => this.watch({ by: 'id', id }, changed),
    });
    options.informers.claims.onChange((change) => this.#onClaimChange(change));
    options.informers.sandboxes.onChange(({ old, next }) => this.#onSandboxChange(next ?? old));
  }

  hasSynced(): boolean {
    const { claims, sandboxes: all } = this.#o.informers;
    return claims.hasSynced() && all.hasSynced();
  }

  /** Looks a sandbox up in the caches. */
  find(query: Query): SandboxSnapshot {
    const { sandboxes: all } = this.#o.informers;
    if (query.by === 'name') return this.#buildSnapshot(all.store.get(`${query.namespace}/${query.name}`), query.uid);
    const claim = findHolder(this.#listClaims(query.id));
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
   * Looks again for a sandbox that the caches would refuse, because a client may know of a write before the watches show it. The
   * gateway asks the API server by name; for an id whose claim it has not seen, it waits a moment for the watch. Concurrent
   * calls for the same name share the answer; for a second after it, the caches answer.
   */
  async findLive(query: Query, source: string): Promise<LiveSnapshot> {
    const isNew = query.by === 'id' && !this.#hasId(query.id);
    const live = await (isNew ? this.#waitForId(query, source) : this.#findByName(query, source));
    if (live !== undefined) this.#o.onLookup(getResult(live));
    return live ?? this.find(query);
  }

  /** The claim that owns a Sandbox, if the cache has it. */
  findClaim(sandbox: Sandbox): SandboxClaim | undefined {
    const owner = findOwningClaim(sandbox);
    if (owner === undefined) return undefined;
    const [claim] = this.#o.informers.claims.store.listByIndex(BY_UID, owner.uid);
    return claim;
  }

  #listClaims(id: string): Iterable<SandboxClaim> {
    return this.#o.informers.claims.store.listByIndex(BY_ID, id);
  }

  #hasId(id: string): boolean {
    return this.#o.informers.claims.store.countIndex(BY_ID, id) > 0;
  }

  async #waitForId(query: Extract<Query, { by: 'id' }>, source: string): Promise<LiveSnapshot> {
    const end = await this.#unknownIds.waitFor(query.id, source);
    if (end === 'source-full') return 'limited';
    return end === 'full' ? 'unsure' : this.find(query);
  }

  /** Undefined: an answer of the API server still counts, and the caches answer. */
  async #findByName(query: Query, source: string): Promise<LiveSnapshot | undefined> {
    const key = queryKey(query);
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const nowMs = this.#o.clock.monotonic();
    if (this.#answered.get(key, nowMs) !== undefined) return undefined;
    const usedUp = this.#rates.take(source, nowMs);
    if (usedUp !== undefined) return usedUp === 'source' ? 'limited' : 'unsure';
    const answer = this.#ask(query).finally(() => this.#asking.delete(key));
    this.#asking.set(key, answer);
    return answer;
  }

  async #ask(query: Query): Promise<LiveSnapshot> {
    try {
      const snapshot = await (query.by === 'id' ? this.#askById(query.id) : this.#askByName(query));
      this.#answered.set(queryKey(query), true, this.#o.clock.monotonic() + ANSWER_COUNTS_MS);
      return snapshot;
    } catch (err) {
      this.#o.log.warn({ err, query }, 'the API server could not be asked about a sandbox');
      return 'unsure';
    }
  }

  /** Reads the claim that the caches show as the holder of the id, and its Sandbox. */
  async #askById(id: string): Promise<SandboxSnapshot> {
    const { namespace = '', name = '' } = findHolder(this.#listClaims(id))?.metadata ?? {};
    const claim = await this.#getClaim({ namespace, name });
    if (claim === undefined || findSandboxId(claim) !== id) return NOTHING;
    const key = findSandboxKey(claim);
    const sandbox = key === undefined ? undefined : await this.#getSandbox(key);
    return { claim, sandbox: findSandbox(claim, () => sandbox) };
  }

  async #askByName({ namespace, name, uid }: Extract<Query, { by: 'name' }>): Promise<SandboxSnapshot> {
    if (!isServed(this.#o.namespaces, namespace)) return NOTHING;
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

  #buildSnapshot(sandbox: Sandbox | undefined, uid: string | undefined): SandboxSnapshot {
    if (sandbox === undefined || (uid !== undefined && sandbox.metadata.uid !== uid)) return NOTHING;
    return { claim: this.findClaim(sandbox), sandbox };
  }

  #onClaimChange({ old, next }: Change<SandboxClaim>): void {
    for (const claim of [old, next]) {
      if (claim === undefined) continue;
      const key = findSandboxKey(claim);
      this.#recordPresence(findSandboxId(claim));
      this.#notify(findSandboxId(claim));
      if (key !== undefined) this.#notify(`${key.namespace}/${key.name}`);
    }
  }

  #recordPresence(id: string | undefined): void {
    if (id === undefined) return;
    if (this.#hasId(id)) this.#unknownIds.recordShown(id);
    else this.#unknownIds.recordDeleted(id);
  }

  #onSandboxChange(sandbox: Sandbox | undefined): void {
    if (sandbox === undefined) return;
    const { namespace = '', name = '' } = sandbox.metadata;
    this.#notify(`${namespace}/${name}`);
    const claim = this.findClaim(sandbox);
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

function getResult(live: LiveSnapshot): LookupResult {
  if (typeof live === 'string') return live;
  return live.claim === undefined && live.sandbox === undefined ? 'missing' : 'found';
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

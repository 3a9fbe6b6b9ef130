import { labels, sandboxClaims, sandboxes, sandboxIdOf } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isNotFound, TokenBucket } from '@sandlot/kube';
import type { Change, KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { BY_ID, BY_UID, reducedClaim, reducedSandbox } from '../wiring/informers.ts';
import type { Informers } from '../wiring/informers.ts';
import { holderOf, owningClaim, queryKey } from './snapshot.ts';
import type { Query, Situation } from './snapshot.ts';

/** Questions to the API server about what the caches do not know: a few, whatever ids people make up. */
const LIVE_RATE = { perSecond: 50, burst: 100 };
/** For so long the answer to such a question stands. */
const ANSWER_STANDS_MS = 1_000;
const MAX_ANSWERS = 10_000;
const LIVE_LIMIT_MS = 3_000;

/** `unsure`: the API server was not asked, or did not answer. */
export type Confirmation = Situation | 'unsure';

export interface RoutesOptions {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly namespace: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onLookup: (result: 'found' | 'missing' | 'unsure') => void;
}

/** Who is where, as the watches tell it, and where they cannot have told it yet, as the API server does. */
export class Routes {
  readonly #o: RoutesOptions;
  readonly #rate = new TokenBucket(LIVE_RATE);
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #asking = new Map<string, Promise<Confirmation>>();
  /** When what the API server said of a key lapses. */
  readonly #answered = new Map<string, number>();

  constructor(options: RoutesOptions) {
    this.#o = options;
    options.informers.claims.onChange((change) => this.#claimChanged(change));
    options.informers.sandboxes.onChange(({ old, next }) => this.#sandboxChanged(next ?? old));
  }

  hasSynced(): boolean {
    const { claims, sandboxes: all } = this.#o.informers;
    return claims.hasSynced() && all.hasSynced();
  }

  /** What the caches know. */
  situation(query: Query): Situation {
    const { claims, sandboxes: all } = this.#o.informers;
    if (query.by === 'name') return this.#ofSandbox(all.store.get(`${query.namespace}/${query.name}`), query.uid);
    const claim = holderOf(claims.store.byIndex(BY_ID, query.id));
    return { claim, sandbox: claim === undefined ? undefined : ownedBy(claim, (key) => all.store.get(key)) };
  }

  /** Calls `changed` whenever the situation of the query may be another, until disposed of. */
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
   * Asks the API server, because a client may know of a write before our watches do. Those who ask the same at a time
   * share the answer, and for a second afterwards the caches answer.
   */
  confirm(query: Query): Promise<Confirmation> {
    const key = queryKey(query);
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    if (this.#isAnswered(key)) return Promise.resolve(this.situation(query));
    if (this.#rate.take(this.#o.clock.monotonic(), 0) > 0) {
      this.#o.onLookup('unsure');
      return Promise.resolve('unsure');
    }
    const answer = this.#ask(query).finally(() => this.#asking.delete(key));
    this.#asking.set(key, answer);
    return answer;
  }

  async #ask(query: Query): Promise<Confirmation> {
    try {
      const situation = await (query.by === 'id' ? this.#liveById(query.id) : this.#liveByName(query));
      const isFound = situation.claim !== undefined || situation.sandbox !== undefined;
      this.#o.onLookup(isFound ? 'found' : 'missing');
      this.#remember(queryKey(query));
      return situation;
    } catch (err) {
      this.#o.log.warn({ err, query }, 'the API server could not be asked about a sandbox');
      this.#o.onLookup('unsure');
      return 'unsure';
    }
  }

  async #liveById(id: string): Promise<Situation> {
    const { client, namespace } = this.#o;
    const labelSelector = `${labels.sandboxId}=${id}`;
    const { items } = await client.list(sandboxClaims, { labelSelector, namespace, deadlineMs: LIVE_LIMIT_MS });
    const claim = holderOf(items.filter((item) => sandboxIdOf(item) !== undefined).map(reducedClaim));
    const key = claim === undefined ? undefined : sandboxKeyOf(claim);
    const sandbox = key === undefined ? undefined : await this.#liveSandbox(key);
    return { claim, sandbox: claim === undefined ? undefined : ownedBy(claim, () => sandbox) };
  }

  async #liveByName({ namespace, name, uid }: Extract<Query, { by: 'name' }>): Promise<Situation> {
    if (this.#o.namespace !== undefined && namespace !== this.#o.namespace) return NOTHING;
    const sandbox = await this.#liveSandbox({ namespace, name });
    if (sandbox === undefined || (uid !== undefined && sandbox.metadata.uid !== uid)) return NOTHING;
    const owner = owningClaim(sandbox);
    const claim = owner === undefined ? undefined : await this.#liveClaim({ namespace, name: owner.name });
    return { claim: claim?.metadata.uid === owner?.uid ? claim : undefined, sandbox };
  }

  #liveSandbox(key: ObjectKey): Promise<Sandbox | undefined> {
    return orUndefined(this.#o.client.get(sandboxes, key, { deadlineMs: LIVE_LIMIT_MS }).then(reducedSandbox));
  }

  #liveClaim(key: ObjectKey): Promise<SandboxClaim | undefined> {
    return orUndefined(this.#o.client.get(sandboxClaims, key, { deadlineMs: LIVE_LIMIT_MS }).then(reducedClaim));
  }

  #ofSandbox(sandbox: Sandbox | undefined, uid: string | undefined): Situation {
    if (sandbox === undefined || (uid !== undefined && sandbox.metadata.uid !== uid)) return NOTHING;
    return { claim: this.claimOf(sandbox), sandbox };
  }

  /** The claim that owns a Sandbox, if the cache has it. */
  claimOf(sandbox: Sandbox): SandboxClaim | undefined {
    const owner = owningClaim(sandbox);
    if (owner === undefined) return undefined;
    const [claim] = this.#o.informers.claims.store.byIndex(BY_UID, owner.uid);
    return claim;
  }

  #isAnswered(key: string): boolean {
    const untilMs = this.#answered.get(key);
    return untilMs !== undefined && untilMs > this.#o.clock.monotonic();
  }

  /** The oldest answer goes first; one that has lapsed is worth nothing. */
  #remember(key: string): void {
    this.#answered.delete(key);
    this.#answered.set(key, this.#o.clock.monotonic() + ANSWER_STANDS_MS);
    if (this.#answered.size <= MAX_ANSWERS) return;
    const [oldest] = this.#answered.keys();
    if (oldest !== undefined) this.#answered.delete(oldest);
  }

  #claimChanged({ old, next }: Change<SandboxClaim>): void {
    for (const claim of [old, next]) {
      if (claim === undefined) continue;
      const key = sandboxKeyOf(claim);
      this.#tell(sandboxIdOf(claim));
      if (key !== undefined) this.#tell(`${key.namespace}/${key.name}`);
    }
  }

  #sandboxChanged(sandbox: Sandbox | undefined): void {
    if (sandbox === undefined) return;
    const { namespace = '', name = '' } = sandbox.metadata;
    this.#tell(`${namespace}/${name}`);
    const claim = this.claimOf(sandbox);
    if (claim !== undefined) this.#tell(sandboxIdOf(claim));
  }

  #tell(key: string | undefined): void {
    const watchers = key === undefined ? undefined : this.#watchers.get(key);
    if (watchers !== undefined) for (const changed of [...watchers]) changed();
  }
}

interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

const NOTHING: Situation = { claim: undefined, sandbox: undefined };

function sandboxKeyOf({ metadata: { namespace = '' }, status }: SandboxClaim): ObjectKey | undefined {
  const name = status?.sandbox?.name;
  return name === undefined || name === '' ? undefined : { namespace, name };
}

/** The Sandbox that the claim's status names, if it is the claim's own: a status may name what became another's. */
function ownedBy(claim: SandboxClaim, get: (key: string) => Sandbox | undefined): Sandbox | undefined {
  const key = sandboxKeyOf(claim);
  const sandbox = key === undefined ? undefined : get(`${key.namespace}/${key.name}`);
  return sandbox !== undefined && owningClaim(sandbox)?.uid === claim.metadata.uid ? sandbox : undefined;
}

async function orUndefined<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

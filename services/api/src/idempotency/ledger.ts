import type { SandboxClaim } from '@sandlot/api-types';
import { configMaps, isAlreadyExists, isConflict, isNotFound } from '@sandlot/kube';
import type { ConfigMap, KubeClient, ObjectKey, Priority } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { decodeRecord, encodeRecord, overdue, recordOf, shardOf } from './record.ts';
import type { CreateRecord } from './record.ts';

/** Label of the objects with the records. */
export const RECORDS_LABEL = 'sandlot.dev/create-records';
const MAX_KNOWN = 100_000;

export interface LedgerDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where the records are: the installation's own namespace. */
  readonly namespace: string;
  /** Told of sandboxes that do not say which protocol their daemon speaks. */
  readonly envdVersion: string;
  /** The claims that there are, as of the watch. */
  readonly claims: () => Iterable<SandboxClaim>;
}

/**
 * Records of creates with an Idempotency-Key, in ConfigMaps of the installation, for 24 h. While a claim lives it is its own
 * record; the one here is written behind the answer of the create, at the latest before the API kills the sandbox, and by a
 * repeated look at all claims in case that a replica died in between. All writes may be repeated by anybody.
 */
export class CreateLedger {
  readonly #deps: LedgerDeps;
  /** Ids of claims whose record is known to be stored; the oldest are forgotten first. */
  readonly #known = new Set<string>();

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  /** The create that had that id; undefined when there was none in the last 24 h. Rejects with a KubeError. */
  async find(id: string): Promise<CreateRecord | undefined> {
    const shard = await orNothing(this.#deps.client.get(configMaps, this.#key(id), { priority: 'claim' }));
    return decodeRecord(shard?.data?.[id], this.#deps.clock.now());
  }

  /** Stores the record of a claim, if it asks for one and has none yet. Rejects with a KubeError. */
  async keep(claim: SandboxClaim, priority: Priority = 'background'): Promise<void> {
    const { envdVersion, clock } = this.#deps;
    const { name: id = '', uid = '' } = claim.metadata;
    if (this.#known.has(uid)) return;
    const record = recordOf(claim, { envdVersion, nowMs: clock.now() });
    if (record === undefined) return;
    await this.#write(id, encodeRecord(record), priority);
    this.#remember(uid);
  }

  /** The same for whoever does not wait. A failure is made good by {@link repair}. */
  keepBehind(claim: SandboxClaim): void {
    this.keep(claim).catch((err: unknown) => {
      this.#deps.log.warn({ err, sandbox: claim.metadata.name }, 'the record of a create waits for its repair');
    });
  }

  /** Stores what claims ask for and nobody has stored. Rejects with a KubeError. */
  async repair(): Promise<void> {
    for (const claim of this.#deps.claims()) await this.keep(claim);
  }

  /** Takes away what is too old, and objects that are empty then. What changes meanwhile is left to the next time. */
  async prune(): Promise<void> {
    const { client, namespace, clock } = this.#deps;
    const { items } = await client.listAll(configMaps, { namespace, labelSelector: `${RECORDS_LABEL}=true` });
    for (const shard of items) {
      const data = shard.data ?? {};
      const gone = overdue(data, clock.now());
      if (gone.length === 0 && Object.keys(data).length > 0) continue;
      await unlessChanged(this.#drop(shard, gone));
    }
  }

  async #drop({ metadata, data = {} }: ConfigMap, gone: readonly string[]): Promise<void> {
    const { client, namespace } = this.#deps;
    const { name = '', uid, resourceVersion = '' } = metadata;
    const key = { namespace, name };
    if (gone.length === Object.keys(data).length) {
      await client.delete(configMaps, key, { uid, resourceVersion, priority: 'background' });
    } else {
      const removed = Object.fromEntries(gone.map((id) => [id, null]));
      await client.mergePatch(configMaps, key, { metadata: { resourceVersion }, data: removed }, behind);
    }
  }

  async #write(id: string, text: string, priority: Priority): Promise<void> {
    const { client } = this.#deps;
    const key = this.#key(id);
    const data = { [id]: text };
    // Its object is there nearly always. One that comes or goes in between makes it look again, once.
    for (const isLast of [false, true]) {
      if ((await orNothing(client.mergePatch(configMaps, key, { data }, { priority }))) !== undefined) return;
      try {
        const metadata = { ...key, labels: { [RECORDS_LABEL]: 'true' } };
        await client.create(configMaps, { metadata, data }, { priority });
        return;
      } catch (error) {
        if (isLast || !isAlreadyExists(error)) throw error;
      }
    }
  }

  #key(id: string): ObjectKey {
    return { namespace: this.#deps.namespace, name: shardOf(id) };
  }

  #remember(uid: string): void {
    this.#known.add(uid);
    const [oldest = ''] = this.#known;
    if (this.#known.size > MAX_KNOWN) this.#known.delete(oldest);
  }
}

const behind = { priority: 'background' } as const;

async function orNothing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function unlessChanged(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

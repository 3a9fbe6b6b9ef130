import type { SandboxClaim } from '@sandlot/api-types';
import { configMaps, isAlreadyExists, isConflict, isNotFound } from '@sandlot/kube';
import type { ConfigMap, KubeClient, ObjectKey, Priority } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import type { Sweep } from '../wiring/sweeps.ts';
import { decodeRecord, encodeRecord, listExpiredIds, buildRecord, formatShard } from './record.ts';
import type { CreateRecord } from './record.ts';

/** Label of the objects with the records. */
export const RECORDS_LABEL = 'sandlot.dev/create-records';
const MAX_REMEMBERED = 100_000;

export interface LedgerDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Namespace of the records: that of the installation. */
  readonly namespace: string;
  /** Version of the daemon in the records of sandboxes that do not report one. */
  readonly envdVersion: string;
  /** All claims in the informer. */
  readonly listClaims: () => Iterable<SandboxClaim>;
}

/**
 * Records of creates with an Idempotency-Key, kept for 24 h in ConfigMaps of the installation. While a claim exists, it is its
 * own record. The record here is written after the answer of the create, and at the latest before the API kills the sandbox.
 * If a replica dies in between, a sweep over all claims writes it. Every write may be repeated by any replica.
 */
export class CreateLedger {
  readonly #deps: LedgerDeps;
  /** UIDs of claims whose record is stored; the oldest are dropped first. */
  readonly #storedUids = new Set<string>();

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  /** The record of a sandbox id; undefined if there was no create in the last 24 h. Rejects with a KubeError. */
  async find(id: string): Promise<CreateRecord | undefined> {
    const shard = await this.#deps.client.find(configMaps, this.#key(id), { priority: 'claim' });
    return decodeRecord(shard?.data?.[id], this.#deps.clock.now());
  }

  /** Stores the record of a claim that needs one and has none yet. Rejects with a KubeError. */
  async keep(claim: SandboxClaim, priority: Priority = 'background'): Promise<void> {
    const { envdVersion, clock } = this.#deps;
    const { name: id = '', uid = '' } = claim.metadata;
    if (this.#storedUids.has(uid)) return;
    const record = buildRecord(claim, { envdVersion, nowMs: clock.now() });
    if (record === undefined) return;
    await this.#write(id, encodeRecord(record), priority);
    this.#remember(uid);
  }

  /** Like {@link keep}, without waiting. {@link repair} makes up for a failure. */
  keepInBackground(claim: SandboxClaim): void {
    this.keep(claim).catch((err: unknown) => {
      this.#deps.log.warn(
        { err, sandbox: claim.metadata.name },
        'could not store the record of a create; the next sweep retries it',
      );
    });
  }

  /** Stores the missing records of all claims. Rejects with a KubeError. */
  async repair(): Promise<void> {
    for (const claim of this.#deps.listClaims()) await this.keep(claim);
  }

  /** Deletes expired records, and ConfigMaps without records. Skips a ConfigMap that changes meanwhile; the next sweep gets it. */
  async prune(): Promise<void> {
    const { client, namespace, clock } = this.#deps;
    const { items } = await client.listAll(configMaps, { namespace, labelSelector: `${RECORDS_LABEL}=true` });
    for (const shard of items) {
      const data = shard.data ?? {};
      const expired = listExpiredIds(data, clock.now());
      if (expired.length === 0 && Object.keys(data).length > 0) continue;
      await ignoreChanged(this.#drop(shard, expired));
    }
  }

  async #drop({ metadata, data = {} }: ConfigMap, expired: readonly string[]): Promise<void> {
    const { client, namespace } = this.#deps;
    const { name = '', uid, resourceVersion = '' } = metadata;
    const key = { namespace, name };
    if (expired.length === Object.keys(data).length) {
      await client.delete(configMaps, key, { uid, resourceVersion, priority: 'background' });
    } else {
      const removed = Object.fromEntries(expired.map((id) => [id, null]));
      await client.mergePatch(configMaps, key, { metadata: { resourceVersion }, data: removed }, IN_BACKGROUND);
    }
  }

  async #write(id: string, text: string, priority: Priority): Promise<void> {
    const { client } = this.#deps;
    const key = this.#key(id);
    const data = { [id]: text };
    // The ConfigMap nearly always exists. If another replica creates or deletes it in between, one more round writes it.
    for (const isLast of [false, true]) {
      if ((await catchNotFound(client.mergePatch(configMaps, key, { data }, { priority }))) !== undefined) return;
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
    return { namespace: this.#deps.namespace, name: formatShard(id) };
  }

  #remember(uid: string): void {
    this.#storedUids.add(uid);
    const [oldest = ''] = this.#storedUids;
    if (this.#storedUids.size > MAX_REMEMBERED) this.#storedUids.delete(oldest);
  }
}

const IN_BACKGROUND = { priority: 'background' } as const;

async function catchNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function ignoreChanged(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The sweeps of the ledger. Every replica runs them, without a lease. */
export function listLedgerSweeps(ledger: Pick<CreateLedger, 'repair' | 'prune'>): readonly Sweep[] {
  return [
    { name: 'records of creates', everyMs: MINUTE_MS, run: () => ledger.repair() },
    { name: 'overdue records of creates', everyMs: HOUR_MS, run: () => ledger.prune() },
  ];
}

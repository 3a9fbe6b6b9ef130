import { createInformer, isNotFound, leases } from '@sandlot/kube';
import type { Informer, KubeClient, Lease, OwnerReference } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';

/** How often the process writes its Lease. */
const RENEW_MS = 5_000;
const CALL_MS = 4_000;

export interface FreshnessOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
  /** Name of the Lease: one for each replica. */
  readonly name: string;
  /** The Pod of the replica, which takes the Lease with it when it goes. */
  readonly owner?: OwnerReference | undefined;
}

/**
 * Measures how old the view of the cluster is: the process writes a Lease and waits until the watch shows it. A watch that is
 * cut off, or lags, shows none of the changes that take egress away either.
 */
export class Freshness {
  readonly informer: Informer<Lease>;
  readonly #options: FreshnessOptions;
  readonly #written = new Map<string, number>();
  #freshMs = Number.NEGATIVE_INFINITY;

  constructor(options: FreshnessOptions) {
    const { client, clock, log, namespace, name } = options;
    this.#options = options;
    const fieldSelector = `metadata.name=${name}`;
    this.informer = createInformer({ client, clock, log, resource: leases, namespaces: [namespace], fieldSelector });
    this.informer.onChange(({ next }) => this.#see(next?.metadata.resourceVersion ?? ''));
  }

  /** Milliseconds since the newest write that the watch has shown. */
  getAgeMs(): number {
    return this.#options.clock.monotonic() - this.#freshMs;
  }

  /** Writes the Lease until the signal aborts. Never rejects. */
  async keep(stop: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!stop.aborted) {
      await this.#write().catch((error: unknown) => {
        log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'the Lease was not written');
      });
      await clock.sleep(RENEW_MS, stop);
    }
  }

  async #write(): Promise<void> {
    const { client, clock, namespace, name, owner } = this.#options;
    const begunMs = clock.monotonic();
    const renewTime = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const key = { namespace, name };
    const spec = { holderIdentity: name, renewTime };
    const written = await client.mergePatch(leases, key, { spec }, { deadlineMs: CALL_MS }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      // Some clusters let only those who may delete an object give it an owner later.
      const metadata = { ...key, ownerReferences: owner === undefined ? [] : [owner] };
      return client.create(leases, { metadata, spec }, { deadlineMs: CALL_MS });
    });
    this.#written.set(written.metadata.resourceVersion ?? '', begunMs);
    this.#see(this.informer.store.get(`${namespace}/${name}`)?.metadata.resourceVersion ?? '');
  }

  /** Writes that came before the one that the watch shows are older news. */
  #see(resourceVersion: string): void {
    const begunMs = this.#written.get(resourceVersion);
    if (begunMs === undefined) return;
    this.#freshMs = Math.max(this.#freshMs, begunMs);
    for (const [version, ms] of this.#written) if (ms <= begunMs) this.#written.delete(version);
  }
}

import { podNameOf } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { events, persistentVolumeClaims, pods } from '@sandlot/kube';
import type { KubeClient, Pod, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TokenBucket } from '@sandlot/std';
import { claimNames } from '../disks/decide-disks.ts';
import type { StartFacts } from './trace-phases.ts';

/** Starts whose details are read; those of a burst are told from the cache alone. */
const RATE = { perSecond: 2, burst: 10 };
const PATIENCE_MS = 5_000;
const MOST = 100;

export interface FactsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly pods: Store<Pod>;
}

type Facts = Pick<StartFacts, 'pod' | 'events' | 'volumes'>;

/**
 * Reads what the phases of a start are told from, for traces that are kept: when containers started, when images were
 * pulled and disks were bound is in no cache. Never rejects: what cannot be read is left out.
 */
export class FactsReader {
  readonly #deps: FactsDeps;
  readonly #rate = new TokenBucket(RATE);

  constructor(deps: FactsDeps) {
    this.#deps = deps;
  }

  async read(sandbox: Sandbox): Promise<Facts> {
    const { clock, client, pods: cache } = this.#deps;
    const { namespace } = sandbox.metadata;
    const cached = cache.get(`${namespace ?? ''}/${podNameOf(sandbox)}`);
    if (this.#rate.take(clock.monotonic(), 0) > 0) return { pod: cached, events: [], volumes: [] };
    const options = { priority: 'background', deadlineMs: PATIENCE_MS } as const;
    const uid = cached?.metadata.uid;
    const [pod, told, volumes] = await Promise.all([
      client.get(pods, { namespace, name: podNameOf(sandbox) }, options).catch(() => cached),
      uid === undefined
        ? []
        : client.list(events, { ...options, namespace, fieldSelector: `regarding.uid=${uid}`, limit: MOST }).then(
            ({ items }) => items,
            () => [],
          ),
      Promise.all(
        claimNames(sandbox).map((name) =>
          client.get(persistentVolumeClaims, { namespace, name }, options).catch(() => undefined),
        ),
      ),
    ]);
    const isSame = pod?.metadata.uid === uid;
    return { pod: isSame ? pod : cached, events: told, volumes: volumes.filter((volume) => volume !== undefined) };
  }
}

import { getPodName } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { events, persistentVolumeClaims, pods } from '@sandlot/kube';
import type { KubeClient, Pod, Store } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { TokenBucket } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { listDiskNames } from '../disks/disk-names.ts';
import type { StartFacts } from './trace-phases.ts';

const DEADLINE_MS = 5_000;
const MAX_EVENTS = 100;

export interface FactsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly pods: Store<Pod>;
}

type Facts = Pick<StartFacts, 'pod' | 'events' | 'volumes'>;

/**
 * Reads what the phases of a start are computed from, for traces that are kept. No cache holds when containers started,
 * images were pulled and disks were bound. Never rejects: what cannot be read is left out.
 */
export class FactsReader {
  readonly #deps: FactsDeps;
  readonly #rate = new TokenBucket(pacing.traceReads);

  constructor(deps: FactsDeps) {
    this.#deps = deps;
  }

  async read(sandbox: Sandbox): Promise<Facts> {
    const { clock, client, pods: cache } = this.#deps;
    const { namespace } = sandbox.metadata;
    const cached = cache.get(`${namespace ?? ''}/${getPodName(sandbox)}`);
    if (this.#rate.take(clock.monotonic(), 0) > 0) return { pod: cached, events: [], volumes: [] };
    const options = { priority: 'background', deadlineMs: DEADLINE_MS } as const;
    const uid = cached?.metadata.uid;
    const [pod, found, volumes] = await Promise.all([
      client.get(pods, { namespace, name: getPodName(sandbox) }, options).catch(() => cached),
      uid === undefined
        ? []
        : client.list(events, { ...options, namespace, fieldSelector: `regarding.uid=${uid}`, limit: MAX_EVENTS }).then(
            ({ items }) => items,
            () => [],
          ),
      Promise.all(
        listDiskNames(sandbox).map((name) =>
          client.get(persistentVolumeClaims, { namespace, name }, options).catch(() => undefined),
        ),
      ),
    ]);
    const isSame = pod?.metadata.uid === uid;
    return { pod: isSame ? pod : cached, events: found, volumes: volumes.filter((volume) => volume !== undefined) };
  }
}

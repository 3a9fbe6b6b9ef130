import { getPodName } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { events, persistentVolumeClaims, pods } from '@sandlot/kube';
import type { Event, KubeClient, Pod, Store } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { TokenBucket } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { listDiskNames } from '../disks/disk-names.ts';
import { PULLED } from './trace-phases.ts';
import type { StartFacts } from './trace-phases.ts';

const DEADLINE_MS = 5_000;
const MAX_EVENTS = 100;
/** A busy kubelet reports what it did seconds later. */
const LATE_EVENTS_MS = 3_000;
const OPTIONS = { priority: 'background', deadlineMs: DEADLINE_MS } as const;

export interface FactsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly pods: Pick<Store<Pod>, 'get'>;
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
    const uid = cached?.metadata.uid;
    const [pod, early, volumes] = await Promise.all([
      client.get(pods, { namespace, name: getPodName(sandbox) }, OPTIONS).catch(() => cached),
      this.#listEvents(namespace, uid),
      Promise.all(
        listDiskNames(sandbox).map((name) =>
          client.get(persistentVolumeClaims, { namespace, name }, OPTIONS).catch(() => undefined),
        ),
      ),
    ]);
    const found = isPullMissing(pod, early) ? await this.#listLateEvents(namespace, uid) : early;
    const isSame = pod?.metadata.uid === uid;
    return { pod: isSame ? pod : cached, events: found, volumes: volumes.filter((volume) => volume !== undefined) };
  }

  async #listLateEvents(namespace: string | undefined, uid: string | undefined): Promise<readonly Event[]> {
    await this.#deps.clock.sleep(LATE_EVENTS_MS);
    return this.#listEvents(namespace, uid);
  }

  async #listEvents(namespace: string | undefined, uid: string | undefined): Promise<readonly Event[]> {
    if (uid === undefined) return [];
    const which = { namespace, fieldSelector: `regarding.uid=${uid}`, limit: MAX_EVENTS };
    return this.#deps.client.list(events, { ...OPTIONS, ...which }).then(
      ({ items }) => items,
      () => [],
    );
  }
}

/** Whether a container runs although no Event says that its image is there. */
function isPullMissing(pod: Pod | undefined, found: readonly Event[]): boolean {
  const hasStarted = pod?.status?.containerStatuses?.some(({ state }) => state?.running !== undefined) === true;
  return hasStarted && !found.some(({ reason }) => reason === PULLED);
}

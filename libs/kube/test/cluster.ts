// A cluster with a few things and a lease, and processes that run a controller for them.
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import type { KubeClient } from '../src/client/types.ts';
import { Collection, things } from './collection.ts';
import type { Thing } from './collection.ts';
import { createInformer } from '../src/informer/informer.ts';
import type { Informer } from '../src/informer/informer.ts';
import { Candidate, LeaseServer } from './election.ts';
import { getKey } from '../src/objects/object.ts';
import type { WorkQueue } from '../src/queue/workqueue.ts';
import { leases } from '../src/objects/resources.ts';
import type { ControllerOptions } from '../src/controller/controller.ts';
import { createManager } from '../src/controller/manager.ts';
import type { Manager, ManagerOptions } from '../src/controller/manager.ts';
import { done } from '../src/controller/result.ts';
import { createChannelSource, watchSource } from '../src/controller/source.ts';
import type { ChannelSource } from '../src/controller/source.ts';

/** One process that runs a controller. */
export interface Process {
  readonly manager: Manager;
  readonly informer: Informer<Thing>;
  readonly hints: ChannelSource;
  /** Keys in the order in which they were reconciled. */
  readonly keys: string[];
  readonly queue: WorkQueue;
  readonly network: Candidate;
  running: Promise<void>;
  stop(): void;
}

export interface ProcessOptions extends Partial<ManagerOptions> {
  readonly identity?: string;
  readonly consistentFirstList?: boolean;
  readonly reconcile?: ControllerOptions['reconcile'];
}

/** A cluster with a few things and a lease, and processes that run a controller for them. */
export class Cluster {
  readonly clock = new FakeClock();
  readonly things = new Collection();
  readonly lease = new LeaseServer(this.clock);

  start({ identity, consistentFirstList, reconcile = async () => done, ...options }: ProcessOptions = {}): Process {
    const { clock } = this;
    const network = new Candidate(this.lease);
    const client = this.#client(network);
    const common = { clock, random: () => 0.5, client };
    const informer = createInformer({ ...common, resource: things, consistentFirstList });
    const hints = createChannelSource();
    const lease = identity === undefined ? undefined : { name: 'lease', namespace: 'ns', identity };
    const manager = createManager({ ...common, log: silentLogger, lease, ...options });
    const keys: string[] = [];
    const { queue } = manager.add({
      name: 'things',
      concurrency: 1,
      sources: [watchSource(informer, (o) => [getKey(o)]), hints],
      reconcile: (key, context) => {
        keys.push(key);
        return reconcile(key, context);
      },
    });
    const stopped = new AbortController();
    const running = manager.run(stopped.signal);
    return { manager, informer, hints, keys, queue, network, running, stop: () => stopped.abort() };
  }

  #client(network: Candidate): KubeClient {
    const [forThings, forLeases] = [this.things.client(), network.client()];
    const surface: Pick<KubeClient, 'list' | 'watch' | 'get' | 'create' | 'mergePatch'> = {
      list: (resource, options) => forThings.list(resource, options),
      watch: (resource, options) =>
        (resource.plural === leases.plural ? forLeases : forThings).watch(resource, options),
      get: (...call) => forLeases.get(...call),
      create: (...call) => forLeases.create(...call),
      mergePatch: (...call) => forLeases.mergePatch(...call),
    };
    return surface as KubeClient;
  }
}

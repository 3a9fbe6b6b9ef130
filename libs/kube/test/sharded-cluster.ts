// Processes that divide the keys of a few things into shards, with leases, failures and deaths.
import { silentLogger } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import type { KubeClient } from '../src/client/types.ts';
import { createManager } from '../src/controller/manager.ts';
import type { Manager } from '../src/controller/manager.ts';
import { requeueAfter } from '../src/controller/result.ts';
import { watchSource } from '../src/controller/source.ts';
import { createInformer } from '../src/informer/informer.ts';
import { TermLimits } from '../src/lease/term-limits.ts';
import { noMetrics } from '../src/metrics.ts';
import { getKey } from '../src/objects/object.ts';
import { Collection, things } from './collection.ts';
import { Candidate, LeaseServer } from './election.ts';
import type { Weather } from './election.ts';

export interface ShardedProcess {
  readonly identity: string;
  readonly manager: Manager;
  /** Keys of runs in progress that may still write. */
  readonly working: Set<string>;
  /** By lease: whether its metric says that this process holds it. */
  readonly leading: Map<string, boolean>;
  weather: Weather;
  isDead: boolean;
  /** For how long the process was stopped: so late its timers are. */
  readonly machine: { stoppedMs: number };
  stop(): void;
}

export class ShardedCluster {
  readonly clock = new FakeClock();
  readonly things = new Collection();
  readonly processes: ShardedProcess[] = [];
  /** How often a run began while another process worked on the key. */
  collisions = 0;
  readonly #servers = new Map<string, LeaseServer>();

  findHolder(lease: string): string | undefined {
    return this.#servers.get(lease)?.lease?.spec?.holderIdentity;
  }

  start(identity: string, shards: number): ShardedProcess {
    const stopped = new AbortController();
    const machine = { stoppedMs: 0 };
    const common = { clock: this.#mortalClock(() => process.isDead, machine), random: () => 0.5 };
    const client = this.#client(() => process);
    const informer = createInformer({ ...common, client: this.things.client(), resource: things });
    const lease = { name: 'lease', namespace: 'ns', identity, isGone: (name: string) => this.#isGone(name) };
    const termLimits = new TermLimits();
    const leading = new Map<string, boolean>();
    const setLeader = (name: string, leads: boolean): void => void leading.set(name, leads);
    const metrics = { ...noMetrics, setLeader };
    const manager = createManager({ ...common, client, log: silentLogger, lease, shards, termLimits, metrics });
    const process: ShardedProcess = {
      ...{ identity, manager, machine, leading, working: new Set<string>() },
      ...{ weather: { delayMs: 0 }, isDead: false },
      stop: () => stopped.abort(),
    };
    this.processes.push(process);
    manager.add({
      name: 'things',
      concurrency: 4,
      sources: [watchSource(informer, (thing) => [getKey(thing)])],
      reconcile: async (key, { signal }) => {
        if (this.processes.some((other) => !other.isDead && other.working.has(key))) this.collisions += 1;
        process.working.add(key);
        signal.addEventListener('abort', () => process.working.delete(key), { once: true });
        await common.clock.sleep(300, signal);
        process.working.delete(key);
        return requeueAfter(700, 'the thing needs attention all the time');
      },
    });
    void manager.run(stopped.signal);
    return process;
  }

  /** As the bus says: a division is absent once no process of it lives. */
  async #isGone(name: string): Promise<boolean> {
    const alive = this.processes.filter(({ isDead }) => !isDead);
    return !alive.some(({ identity }) => identity === name || name === `shards-${identity.split('.')[1] ?? ''}`);
  }

  #mortalClock(isDead: () => boolean, machine: ShardedProcess['machine']): Clock {
    const { clock } = this;
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic() + machine.stoppedMs,
      setTimeout: (fn, delayMs) => clock.setTimeout(() => (isDead() ? undefined : fn()), delayMs),
      sleep: async (delayMs, signal) => {
        await clock.sleep(delayMs, signal);
        if (isDead()) await new Promise(() => undefined);
      },
    };
  }

  #client(owner: () => ShardedProcess): KubeClient {
    const clients = new Map<string, KubeClient>();
    const find = (name: string): KubeClient => {
      const server = this.#servers.get(name) ?? new LeaseServer(this.clock);
      this.#servers.set(name, server);
      const weather = (): Weather => (owner().isDead ? { delayMs: 0, fault: 'refused' } : owner().weather);
      const client = clients.get(name) ?? new Candidate(server, { weather }).client();
      clients.set(name, client);
      return client;
    };
    const surface: Pick<KubeClient, 'watch' | 'get' | 'create' | 'mergePatch'> = {
      watch: (resource, options) => find(options?.fieldSelector?.split('=')[1] ?? '').watch(resource, options),
      get: (resource, ref, call) => find(ref.name).get(resource, ref, call),
      create: (resource, object, call) => find(object.metadata.name ?? '').create(resource, object, call),
      mergePatch: (...call) => find(call[1].name).mergePatch(...call),
    };
    return surface as KubeClient;
  }
}

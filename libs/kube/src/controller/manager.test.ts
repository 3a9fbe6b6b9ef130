import { silentLogger } from '@sandlot/std';
import type { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { Collection, joinCollections, things } from '../../test/collection.ts';
import { createInformer } from '../informer/informer.ts';
import type { ControllerOptions } from './controller.ts';
import { Cluster } from '../../test/cluster.ts';
import { createManager } from './manager.ts';
import { getKey } from '../objects/object.ts';
import { done, requeueAfter } from './result.ts';
import { watchSource } from './source.ts';

/** A reconcile that ends 100 ms after its signal aborts. */
const waitForAbort =
  (clock: FakeClock, log: string[]): ControllerOptions['reconcile'] =>
  async (key, { signal }) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    log.push(`aborted ${key}`);
    await clock.sleep(100);
    log.push(`ended ${key}`);
    throw signal.reason;
  };

describe('a manager', () => {
  it('reconciles nothing before its caches are synced', async () => {
    const cluster = new Cluster();
    cluster.things.put('a', 1);
    cluster.things.failNext.push('ServerError');
    const process = cluster.start();
    await cluster.clock.advance(300);
    expect([process.keys, process.manager.isReady(), process.manager.isLeader()]).toEqual([[], false, false]);
    await cluster.clock.advance(1_000);
    expect([process.manager.isReady(), process.manager.isLeader()]).toEqual([true, true]);
    expect(process.keys).toEqual(['ns/a']);
  });

  it('reconciles live changes before the objects of the first list', async () => {
    const cluster = new Cluster();
    const { clock } = cluster;
    for (const name of ['a', 'b', 'c']) cluster.things.put(name, 1);
    const process = cluster.start({ reconcile: async () => (await clock.sleep(10), done) });
    await clock.advance(5);
    cluster.things.put('live', 1);
    cluster.things.put('c', 2);
    await clock.advance(100);
    expect(process.keys).toEqual(['ns/a', 'ns/c', 'ns/live', 'ns/b']);
  });

  it('waits for informers that are not a source', async () => {
    const cluster = new Cluster();
    const manager = createManager({ client: cluster.things.client(), log: silentLogger, clock: cluster.clock });
    const informer = createInformer({ client: cluster.things.client(), resource: things, clock: cluster.clock });
    manager.addInformer(informer);
    void manager.run(new AbortController().signal);
    expect(manager.isReady()).toBe(false);
    await cluster.clock.advance(0);
    expect(manager.isReady()).toBe(true);
  });

  it('leaves a namespace alone while one of its caches may not be listed, and names it', async () => {
    const cluster = new Cluster();
    const { clock } = cluster;
    const build = () => ({ 'team-a': new Collection('team-a'), 'team-b': new Collection('team-b') });
    const [owners, children] = [build(), build()];
    for (const collection of Object.values(owners)) collection.put('owner', 1);
    children['team-b'].failNext.push('Forbidden');
    const namespaces = ['team-a', 'team-b'];
    const [first, second] = [owners, children].map((collections) =>
      createInformer({ client: joinCollections(collections), resource: things, namespaces, clock, random: () => 0.5 }),
    );
    const manager = createManager({ client: cluster.things.client(), log: silentLogger, clock });
    const keys: string[] = [];
    for (const informer of [first, second]) if (informer !== undefined) manager.addInformer(informer);
    const sources = first === undefined ? [] : [watchSource(first, (owner) => [getKey(owner)])];
    manager.add({ name: 'owners', concurrency: 1, sources, reconcile: async (key) => (keys.push(key), done) });
    void manager.run(new AbortController().signal);
    await clock.advance(100);
    expect([keys, manager.isReady(), manager.listForbidden()]).toEqual([['team-a/owner'], true, ['team-b']]);
    await clock.advance(10_000);
    expect([keys, manager.listForbidden()]).toEqual([['team-a/owner', 'team-b/owner'], []]);
  });

  it('is not live after the event loop was blocked', async () => {
    const cluster = new Cluster();
    let blockedMs = 0;
    const clock = {
      now: () => cluster.clock.now(),
      monotonic: () => cluster.clock.monotonic() + blockedMs,
      setTimeout: cluster.clock.setTimeout.bind(cluster.clock),
      sleep: cluster.clock.sleep.bind(cluster.clock),
    };
    const { manager } = cluster.start({ clock });
    await cluster.clock.advance(60_000);
    expect(manager.isLive()).toBe(true);
    blockedMs = 10_000;
    expect(manager.isLive()).toBe(false);
    await cluster.clock.advance(1_000);
    expect(manager.isLive()).toBe(true);
  });

  it('is not live when a reconcile never ends', async () => {
    const cluster = new Cluster();
    const { manager, hints } = cluster.start({ reconcile: () => new Promise(() => undefined) });
    await cluster.clock.advance(0);
    hints.push('ns/stuck');
    await cluster.clock.advance(130_000);
    expect(manager.isLive()).toBe(false);
  });
});

describe('a consistent first list', () => {
  it.each(['pod-1', undefined])(
    'is requested once by a process that can reconcile at once (identity %s)',
    async (identity) => {
      const cluster = new Cluster();
      cluster.start({ ...(identity !== undefined && { identity }), consistentFirstList: true });
      await cluster.clock.advance(10_000);
      expect(cluster.things.calls).toEqual(['stream']);
    },
  );
});

describe('a shutdown', () => {
  it('accepts no more keys, finishes queued ones, releases the lease, then stops the informers', async () => {
    const cluster = new Cluster();
    const { clock, things: collection } = cluster;
    const log: string[] = [];
    const process = cluster.start({
      identity: 'pod-1',
      reconcile: async (key) => {
        await clock.sleep(1_000);
        const value = process.informer.store.get(key)?.value;
        log.push(`${key}=${value} held by ${cluster.lease.lease?.spec?.holderIdentity}`);
        return requeueAfter(1, 'never again');
      },
    });
    await clock.advance(100);
    collection.put('a', 1);
    collection.put('b', 1);
    await clock.advance(10);
    process.stop();
    collection.put('late', 1);
    collection.put('b', 2);
    void process.running.then(() => log.push(`stopped, held by "${cluster.lease.lease?.spec?.holderIdentity}"`));
    await clock.advance(5_000);
    expect(log).toEqual(['ns/a=1 held by pod-1', 'ns/b=2 held by pod-1', 'stopped, held by ""']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('aborts runs that do not end in time, and awaits them', async () => {
    const cluster = new Cluster();
    const log: string[] = [];
    cluster.things.put('a', 1);
    cluster.things.put('b', 1);
    const process = cluster.start({ identity: 'pod-1', drainMs: 2_000, reconcile: waitForAbort(cluster.clock, log) });
    await cluster.clock.advance(100);
    process.stop();
    await cluster.clock.advance(1_999);
    expect(log).toEqual([]);
    await cluster.clock.advance(200);
    await process.running;
    expect(log).toEqual(['aborted ns/a', 'ended ns/a']);
    expect(cluster.lease.lease?.spec?.holderIdentity).toBe('');
  });

  it('is quick for a standby', async () => {
    const cluster = new Cluster();
    cluster.things.put('a', 1);
    cluster.start({ identity: 'pod-1' });
    await cluster.clock.advance(100);
    const standby = cluster.start({ identity: 'pod-2' });
    await cluster.clock.advance(100);
    standby.stop();
    await cluster.clock.advance(0);
    await standby.running;
    expect(cluster.lease.lease?.spec?.holderIdentity).toBe('pod-1');
  });

  it('works before the first list has arrived', async () => {
    const cluster = new Cluster();
    cluster.things.stallLists = true;
    const process = cluster.start();
    await cluster.clock.advance(100);
    process.stop();
    await cluster.clock.advance(0);
    await process.running;
    expect(process.keys).toEqual([]);
  });
});

describe('a standby', () => {
  it('is ready but does not reconcile, and takes over when the leader stops', async () => {
    const cluster = new Cluster();
    cluster.things.put('a', 1);
    const leader = cluster.start({ identity: 'pod-1' });
    await cluster.clock.advance(100);
    const standby = cluster.start({ identity: 'pod-2' });
    await cluster.clock.advance(60_000);
    expect([standby.manager.isReady(), standby.manager.isLive(), standby.manager.isLeader()]).toEqual([
      true,
      true,
      false,
    ]);
    expect(standby.keys).toEqual([]);
    expect([leader.manager.getFencingToken(), standby.manager.getFencingToken()]).toEqual([1, undefined]);
    leader.stop();
    await cluster.clock.advance(1);
    expect([standby.manager.isLeader(), standby.manager.getFencingToken()]).toEqual([true, 2]);
    expect(standby.keys).toEqual(['ns/a']);
  });

  it('makes a consistent list after it has taken over and before it reconciles, if configured', async () => {
    const cluster = new Cluster();
    const leader = cluster.start({ identity: 'pod-1', consistentFirstList: true });
    await cluster.clock.advance(100);
    expect(cluster.things.calls).toEqual(['stream']);
    const callsSeen: string[][] = [];
    const standby = cluster.start({
      identity: 'pod-2',
      consistentFirstList: true,
      reconcile: async () => {
        callsSeen.push([...cluster.things.calls]);
        return done;
      },
    });
    await cluster.clock.advance(60_000);
    cluster.things.put('a', 1);
    cluster.things.calls.length = 0;
    leader.stop();
    await cluster.clock.advance(1);
    expect(callsSeen).toEqual([['stream']]);
    expect(standby.keys).toEqual(['ns/a']);
  });
});

describe('a lost lease', () => {
  it('aborts and awaits the reconciles of the term, and the process can lead again later', async () => {
    const cluster = new Cluster();
    const log: string[] = [];
    cluster.things.put('a', 1);
    const process = cluster.start({ identity: 'pod-1', reconcile: waitForAbort(cluster.clock, log) });
    await cluster.clock.advance(100);
    process.network.weather = () => ({ delayMs: 0, fault: 'refused' });
    await cluster.clock.advance(9_999);
    expect([log, process.manager.isLeader()]).toEqual([['aborted ns/a'], false]);
    await cluster.clock.advance(200);
    expect(log).toEqual(['aborted ns/a', 'ended ns/a']);
    process.network.weather = () => ({ delayMs: 0 });
    await cluster.clock.advance(10_000);
    expect(process.manager.isLeader()).toBe(true);
    expect(process.keys).toEqual(['ns/a', 'ns/a']);
  });
});

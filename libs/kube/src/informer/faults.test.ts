import { systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pods } from '../objects/resources.ts';
import type { Pod } from '../objects/resources.ts';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import type { FakeApiServer } from '@sandlot/kube-testkit';
import { createInformer } from './informer.ts';
import type { Informer } from './informer.ts';

/** Runs a hundred times faster than real time: a backoff of a second takes ten milliseconds. */
const fastClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * 100,
  setTimeout: (fn, delayMs) => systemClock.setTimeout(fn, delayMs / 100),
  sleep: (delayMs, signal) => systemClock.sleep(delayMs / 100, signal),
};

const pod = (name: string, team = 'red'): Pod => ({
  metadata: { namespace: 'ns', name, labels: { team } },
  spec: { containers: [] },
});

interface Setup {
  readonly server: FakeApiServer;
  readonly informer: Informer<Pod>;
}

async function follow(options: { watchList: boolean }): Promise<Setup> {
  const server = await startFakeApiServer(options);
  server.seed(pods, pod('a'), pod('b'), pod('c'));
  const setup = start(server);
  await setup.informer.waitUntilSynced();
  await expect.poll(() => server.faults.openWatches(), { interval: 1 }).toBe(1);
  return setup;
}

function start(server: FakeApiServer): Setup {
  const informer = createInformer({ client: server.client(), resource: pods, clock: fastClock, random: () => 0.5 });
  const stopped = new AbortController();
  const running = informer.run(stopped.signal);
  onTestFinished(async () => {
    stopped.abort();
    await running;
    await server.stop();
  });
  return { server, informer };
}

/** Changes, deletes and creates one object each, as another client would. */
function changeObjects({ server }: Setup, round: string): void {
  server.change(pods, { namespace: 'ns', name: 'a' }, (object) => {
    object.metadata.labels = { team: round };
  });
  server.remove(pods, { namespace: 'ns', name: 'b' });
  server.seed(pods, pod(`new-${round}`));
}

const describeObjects = (objects: Iterable<Pod>): string[] =>
  [...objects].map(({ metadata: m }) => `${m.name} ${m.uid} ${m.resourceVersion} ${m.labels?.['team']}`).sort();

async function expectConvergence({ server, informer }: Setup): Promise<void> {
  await expect
    .poll(() => describeObjects(informer.store.values()), { timeout: 5_000, interval: 2 })
    .toEqual(describeObjects(server.objects(pods)));
}

const isWatch = { verb: 'watch' } as const;

describe('an informer follows the server', () => {
  it.each<[string, (server: FakeApiServer) => void]>([
    ['after its watch is reset', ({ faults }) => faults.dropWatches()],
    ['after its watch ends cleanly', ({ faults }) => faults.endWatches()],
    ['after its connection is cut', ({ faults }) => faults.cutConnections()],
    [
      'after its resourceVersion has expired',
      ({ faults }) => {
        faults.expireResourceVersions();
        faults.dropWatches();
      },
    ],
    ['after its open watch ends with 410', ({ faults }) => faults.expireResourceVersions({ live: true })],
    ['after events come twice', ({ faults }) => faults.duplicateEvents(5)],
    ['after the watch sends old events again', ({ faults }) => faults.rewindWatches(3)],
    [
      'after 429 on its next watches',
      ({ faults }) => {
        faults.failNext({ match: isWatch, answer: { status: 429 }, times: 2 });
        faults.dropWatches();
      },
    ],
    [
      'after 500 on its next watches',
      ({ faults }) => {
        faults.failNext({ match: isWatch, answer: { status: 500 }, times: 3 });
        faults.endWatches();
      },
    ],
    [
      'after 500 on its next list',
      ({ faults }) => {
        faults.failNext({ answer: { status: 500 }, times: 2 });
        faults.expireResourceVersions({ live: true });
      },
    ],
    [
      'after its lists were forbidden for a while',
      ({ faults }) => {
        faults.failNext({ answer: { status: 403 }, times: 2 });
        faults.expireResourceVersions({ live: true });
      },
    ],
    [
      'after its next list is reset',
      ({ faults }) => {
        faults.failNext({ answer: 'reset', times: 2 });
        faults.expireResourceVersions({ live: true });
      },
    ],
  ])('%s', async (...[, fail]) => {
    for (const watchList of [true, false]) {
      const setup = await follow({ watchList });
      changeObjects(setup, 'before');
      fail(setup.server);
      changeObjects(setup, 'after');
      await expectConvergence(setup);
      changeObjects(setup, 'later');
      await expectConvergence(setup);
    }
  });

  it('and never shows an old version again when the watch repeats events', async () => {
    const { server, informer } = await follow({ watchList: true });
    changeObjects({ server, informer }, 'after');
    await expectConvergence({ server, informer });
    const shown: string[] = [];
    informer.onChange(({ key, next }) => shown.push(`${key} ${next?.metadata.labels?.['team']}`));
    shown.length = 0;
    server.faults.rewindWatches(6);
    server.seed(pods, pod('last'));
    await expectConvergence({ server, informer });
    expect(shown).toEqual(['ns/last red']);
  });

  it('even if streaming lists stall', async () => {
    const server = await startFakeApiServer();
    server.seed(pods, pod('a'));
    const stall = server.faults.stallWatches();
    const setup = start(server);
    await setup.informer.waitUntilSynced();
    expect(server.requests().map(({ verb }) => verb)).toContain('list');
    stall.end();
    changeObjects(setup, 'later');
    await expectConvergence(setup);
  });
});

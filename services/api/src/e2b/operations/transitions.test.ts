// Two replicas of the API that begin something with one sandbox, and see nothing of each other on their watches.
import { annotations, labels, sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { memoryBus } from '@sandlot/bus/testing';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClusterState } from '../../state/cluster-state.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { createInformers } from '../../wiring/informers.ts';
import { beginSave } from '../snapshots/begin-save.ts';
import { resume, suspend } from './transitions.ts';

const KEY = { namespace: 'team', name: 'warm-1' };
const TIMEOUT_MS = 50_000;
const READY = { reason: 'DependenciesReady', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };

type Server = Awaited<ReturnType<typeof startFakeApiServer>>;

async function startReplica(server: Server, clock: FakeClock) {
  const client = server.client();
  const informers = createInformers(
    { client, namespaces: ['team'], clock },
    { savesMemory: false, buildsTemplates: false },
  );
  const bus = memoryBus();
  const state = new ClusterState({ client, bus, informers, clock, log: silentLogger });
  const stopped = new AbortController();
  const all = [informers.claims, informers.sandboxes];
  const running = all.map((informer) => informer.run(stopped.signal));
  onTestFinished(async () => {
    stopped.abort();
    await Promise.all(running);
    state.close();
  });
  for (const informer of all) await informer.waitUntilSynced();
  const deps = { client, state, clock, log: silentLogger, transitionTimeoutMs: TIMEOUT_MS };
  return { deps, find: async (): Promise<ClaimedSandbox> => (await state.findSandbox('team', 'box'))! };
}

async function setup() {
  const server = await startFakeApiServer({
    resources: [sandboxClaims, sandboxes, sandboxWarmPools, sandboxTemplates],
  });
  server.seed(
    sandboxClaims,
    claim({
      metadata: { namespace: 'team', name: 'box', labels: { [labels.sandboxId]: 'box' } },
      status: { sandbox: { name: KEY.name }, conditions: [{ type: 'Ready', status: 'True', ...READY }] },
    }),
  );
  server.seed(
    sandboxes,
    sandbox({ metadata: KEY, status: { conditions: [{ type: 'Ready', status: 'True', ...READY }] } }),
  );
  const clock = new FakeClock();
  const replicas = [await startReplica(server, clock), await startReplica(server, clock)] as const;
  onTestFinished(() => server.stop());
  await expect.poll(() => server.faults.openWatches(), { interval: 1 }).toBe(4);
  server.faults.stallWatches();
  const read = (): Promise<Sandbox> => server.client().get(sandboxes, KEY);
  return { server, clock, replicas, read };
}

type Replica = Awaited<ReturnType<typeof startReplica>>;

const actions = {
  'a pause': async ({ deps, find }: Replica) =>
    suspend(deps, await find(), { isUnresponsive: false, keepsFiles: false }),
  'a snapshot': async ({ deps, find }: Replica) =>
    beginSave(deps, await find(), { kind: 'snapshot', waitMs: TIMEOUT_MS }),
  'a fork': async ({ deps, find }: Replica) => beginSave(deps, await find(), { kind: 'fork', waitMs: TIMEOUT_MS }),
} as const;
const names = ['a pause', 'a snapshot', 'a fork'] as const;
const DOING = { 'a pause': 'pausing', 'a snapshot': 'being snapshotted', 'a fork': 'being forked' } as const;

describe('two replicas', () => {
  it.each(names.flatMap((first) => names.map((second) => [first, second] as const)))(
    'never begin %s and %s of one sandbox',
    async (first, second) => {
      const { replicas, read } = await setup();
      const [one, other] = replicas;
      await other.find();
      await actions[first](one);
      const before = await read();
      const refused = actions[second](other);
      await expect(refused).rejects.toMatchObject({ status: 409 });
      const isPaused = first === 'a pause' && second !== 'a pause';
      const word = isPaused ? "while in 'pausing' state" : `sandbox 'box' is ${DOING[first]}; try again`;
      await expect(refused).rejects.toThrow(word);
      expect(await read()).toEqual(before);
    },
  );

  it('that begin at the same moment agree on one', async () => {
    const { replicas } = await setup();
    const begun = replicas.flatMap((replica) => names.map((name) => actions[name](replica)));
    const settled = await Promise.allSettled(begun);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('take turns: what has ended keeps nothing away, also from a replica that has not seen the end', async () => {
    const { replicas } = await setup();
    const [one, other] = replicas;
    for (const replica of [one, other, one]) await (await actions['a snapshot'](replica))[Symbol.asyncDispose]();
    await actions['a pause'](other);
  });
});

describe('the record of a save', () => {
  it('names the save, and goes at its end', async () => {
    const { replicas, read } = await setup();
    const turn = await actions['a snapshot'](replicas[0]);
    expect((await read()).metadata.annotations?.[annotations.transition]).toMatch(
      new RegExp(`^snapshot ${turn.id} \\d{4}-`),
    );
    await turn[Symbol.asyncDispose]();
    expect((await read()).metadata.annotations?.[annotations.transition]).toBeUndefined();
  });

  it('of a replica that died counts no longer than the save may take', async () => {
    const { replicas, clock } = await setup();
    const [one, other] = replicas;
    await actions['a snapshot'](one);
    await clock.advance(TIMEOUT_MS);
    await expect(actions['a pause'](other)).rejects.toThrow('is being snapshotted');
    await clock.advance(15_000);
    await actions['a pause'](other);
  });

  it('of a later save stays when an earlier one ends', async () => {
    const { replicas, clock, read } = await setup();
    const early = await actions['a snapshot'](replicas[0]);
    await clock.advance(TIMEOUT_MS + 15_000);
    const late = await actions['a fork'](replicas[1]);
    await early[Symbol.asyncDispose]();
    expect((await read()).metadata.annotations?.[annotations.transition]).toContain(`fork ${late.id}`);
  });

  it('that cannot be removed ends no request', async () => {
    const { server, replicas } = await setup();
    const turn = await actions['a snapshot'](replicas[0]);
    server.faults.failNext({ match: { verb: 'patch', resource: 'sandboxes' }, answer: { status: 500 }, times: 9 });
    await turn[Symbol.asyncDispose]();
  });
});

describe('a resume', () => {
  /** A Sandbox that has not been Ready since `at`. */
  const setUnready = (server: Server, mode: 'Running' | 'Suspended', at: string): void =>
    void server.change(sandboxes, KEY, (object) => {
      object.spec.operatingMode = mode;
      const suspended = mode === 'Suspended' ? ('True' as const) : ('False' as const);
      const both = { reason: 'Test', message: '', lastTransitionTime: at };
      const conditions = [
        { type: 'Suspended', status: suspended, ...both },
        { type: 'Ready', status: 'False' as const, ...both },
      ];
      object.status = { conditions };
    });

  async function startToResume(parts: Awaited<ReturnType<typeof setup>>): Promise<void> {
    const { server, replicas } = parts;
    const [one] = replicas;
    setUnready(server, 'Suspended', '2026-01-01T00:00:00Z');
    await one.deps.state.readSandbox(KEY);
    await resume(one.deps, await one.find());
  }

  it('keeps a pause and a save away until the Sandbox is Ready, and not for longer than it may take', async () => {
    const parts = await setup();
    const [, other] = parts.replicas;
    await startToResume(parts);
    for (const name of names) await expect(actions[name](other)).rejects.toThrow("sandbox 'box' is resuming");
    await parts.clock.advance(TIMEOUT_MS);
    await actions['a pause'](other);
  });

  it('that is over keeps no pause away when a drain takes Ready away again', async () => {
    const parts = await setup();
    const [, other] = parts.replicas;
    await startToResume(parts);
    await parts.clock.advance(2_000);
    setUnready(parts.server, 'Running', new Date(parts.clock.now()).toISOString());
    await actions['a pause'](other);
  });

  it('of an older release, whose record has no begin, counts until the Sandbox is Ready', async () => {
    const parts = await setup();
    const { server, clock } = parts;
    const [, other] = parts.replicas;
    const until = new Date(clock.now() + TIMEOUT_MS).toISOString();
    setUnready(server, 'Running', new Date(clock.now()).toISOString());
    server.change(sandboxes, KEY, ({ metadata }) => {
      metadata.annotations = { [annotations.transition]: `resume old ${until}` };
    });
    await expect(actions['a pause'](other)).rejects.toThrow("sandbox 'box' is resuming");
  });
});

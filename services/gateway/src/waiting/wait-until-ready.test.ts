import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { sandbox } from '@sandlot/api-types/testing';
import { createNullBus } from '@sandlot/bus';
import { FakeClock } from '@sandlot/std/testing';
import { expect, it } from 'vitest';
import { decide } from '../decide.ts';
import type { Decision } from '../decide.ts';
import type { LiveSnapshot } from '../directory/directory.ts';
import type { SandboxSnapshot } from '../directory/snapshot.ts';
import { waitUntilReady } from './wait-until-ready.ts';
import type { WaitEnd } from './wait-until-ready.ts';
import { WakeRequester } from './wake-requester.ts';

const NOTHING: SandboxSnapshot = { claim: undefined, sandbox: undefined };
const claim: SandboxClaim = {
  metadata: { namespace: 'team-a', name: 'k3x9', uid: 'uid-claim' },
  spec: { warmPoolRef: { name: 'base' } },
};
const build = (operatingMode: 'Running' | 'Suspended'): SandboxSnapshot => ({
  claim: undefined,
  sandbox: sandbox({
    ...{ namespace: 'team-a', name: 'box' },
    metadata: { uid: 'uid-box', annotations: { [annotations.suspendedBy]: 'Idle' } },
    spec: { operatingMode },
  }),
});
const [SLEEPING, RESUMING] = [build('Suspended'), build('Running')];
const STARTING: SandboxSnapshot = { claim, sandbox: undefined };

interface Facts {
  /** What the watches show. */
  readonly shown: SandboxSnapshot;
  /** What the API server answers. */
  readonly live: LiveSnapshot;
  /** What the API server has shown when the wait begins. */
  readonly first?: SandboxSnapshot;
}

function startWait({ shown, live, first: begin = STARTING }: Facts) {
  const clock = new FakeClock();
  const state = {
    shown,
    live,
    look: (): void => undefined,
    ended: undefined as WaitEnd | undefined,
    isConnected: true,
  };
  const judge = (snapshot: SandboxSnapshot): Decision => decide({ ...snapshot, dialable: [], wakes: true });
  const first = judge(begin);
  if (first.kind !== 'wait') throw new Error('does not wait');
  const directory = {
    find: () => state.shown,
    findLive: () => Promise.resolve(state.live),
    watch: (_: unknown, look: () => void) => {
      state.look = look;
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const bus = { ...createNullBus(), isConnected: () => state.isConnected };
  const wakeRequester = new WakeRequester(bus, clock);
  const query = { by: 'id', id: 'k3x9' } as const;
  const wait = { query, source: '192.0.2.1', first, limitMs: 30_000, decide: judge, onLeft: () => undefined };
  void waitUntilReady({ directory, wakeRequester, clock }, wait).then((end) => (state.ended = end));
  return { clock, state };
}

const KILLED = { kind: 'gone', reason: 'killed' };

it('asks the API server again for a claim that was deleted before the watches showed it', async () => {
  const { clock, state } = startWait({ shown: NOTHING, live: NOTHING });
  await clock.advance(1_900);
  expect(state.ended).toBeUndefined();
  await clock.advance(200);
  expect(state.ended).toEqual(KILLED);
});

it('ends as killed when the watches showed the claim and then do not', async () => {
  const { clock, state } = startWait({ shown: NOTHING, live: STARTING });
  state.shown = STARTING;
  state.look();
  state.shown = NOTHING;
  state.look();
  await clock.advance(0);
  expect(state.ended).toEqual(KILLED);
});

it.each<[string, LiveSnapshot]>([
  ['the API server still has the claim', STARTING],
  ['the API server cannot be asked', 'unsure'],
])('waits until the limit when %s', async (_, live) => {
  const { clock, state } = startWait({ shown: NOTHING, live });
  await clock.advance(29_000);
  expect(state.ended).toBeUndefined();
  await clock.advance(2_000);
  expect(state.ended).toEqual({ kind: 'late' });
});

it.each([
  ['still sleeps', SLEEPING, 'delayed'],
  ['resumes since NATS is back', RESUMING, 'delayed'],
] as const)('ends as delayed when NATS was away and the Sandbox %s at the limit', async (_, last, kind) => {
  const { clock, state } = startWait({ shown: SLEEPING, live: SLEEPING, first: SLEEPING });
  await clock.advance(5_000);
  state.isConnected = false;
  await clock.advance(20_000);
  state.isConnected = true;
  await clock.advance(3_000);
  state.shown = last;
  state.look();
  await clock.advance(2_000);
  expect(state.ended).toEqual({ kind });
});

it('ends as late when NATS was there all the time', async () => {
  const { clock, state } = startWait({ shown: SLEEPING, live: SLEEPING, first: SLEEPING });
  await clock.advance(30_000);
  expect(state.ended).toEqual({ kind: 'late' });
});

import type { SandboxClaim } from '@sandlot/api-types';
import { FakeClock } from '@sandlot/std/testing';
import { expect, it } from 'vitest';
import { decide } from '../decide.ts';
import type { Decision } from '../decide.ts';
import type { Confirmation } from '../directory/directory.ts';
import type { Situation } from '../directory/snapshot.ts';
import { waitFor } from './wait-until-ready.ts';
import type { WaitEnd } from './wait-until-ready.ts';

const NOTHING: Situation = { claim: undefined, sandbox: undefined };
const claim: SandboxClaim = {
  metadata: { namespace: 'team-a', name: 'k3x9', uid: 'uid-claim' },
  spec: { warmPoolRef: { name: 'base' } },
};
const STARTING: Situation = { claim, sandbox: undefined };

/** Somebody who waits for what the API server knew of, with watches and a server that say what they are told to. */
function waiting({ shown, told }: { shown: Situation; told: Confirmation }) {
  const clock = new FakeClock();
  const world = { shown, told, look: (): void => undefined, ended: undefined as WaitEnd | undefined };
  const judge = (situation: Situation): Decision => decide(situation, { wakes: true, isRoutable: () => true });
  const first = judge(STARTING);
  if (first.kind !== 'wait') throw new Error('a claim without a Sandbox is waited for');
  const routes = {
    situation: () => world.shown,
    confirm: () => Promise.resolve(world.told),
    watch: (_: unknown, look: () => void) => {
      world.look = look;
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const wishes = { for: () => ({ [Symbol.dispose]: () => undefined }) };
  const query = { by: 'id', id: 'k3x9' } as const;
  const wait = { query, first, limitMs: 30_000, decide: judge, onLeft: () => undefined };
  void waitFor({ routes, wishes, clock }, wait).then((end) => (world.ended = end));
  return { clock, world };
}

const KILLED = { kind: 'gone', reason: 'killed' };

it('what the watches never show because it was deleted before is asked for once more', async () => {
  const { clock, world } = waiting({ shown: NOTHING, told: NOTHING });
  await clock.advance(1_900);
  expect(world.ended).toBeUndefined();
  await clock.advance(200);
  expect(world.ended).toEqual(KILLED);
});

it('what the watches show and then do not has been deleted', async () => {
  const { clock, world } = waiting({ shown: NOTHING, told: STARTING });
  world.shown = STARTING;
  world.look();
  world.shown = NOTHING;
  world.look();
  await clock.advance(0);
  expect(world.ended).toEqual(KILLED);
});

it.each<[string, Confirmation]>([
  ['still there', STARTING],
  ['not to be asked for', 'unsure'],
])('what is %s is waited for to the end', async (_, told) => {
  const { clock, world } = waiting({ shown: NOTHING, told });
  await clock.advance(29_000);
  expect(world.ended).toBeUndefined();
  await clock.advance(2_000);
  expect(world.ended).toEqual({ kind: 'late' });
});

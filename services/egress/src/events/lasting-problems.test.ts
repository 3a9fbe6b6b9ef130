import { FakeClock } from '@sandlot/std/testing';
import { beforeEach, expect, it } from 'vitest';
import type { Credential, ValueProblem } from '../plan/plan.ts';
import { LastingProblems } from './lasting-problems.ts';

const credential: Credential = {
  ref: 'ref',
  namespace: 'n',
  claim: 'c',
  claimUid: 'u',
  host: 'api.example.com',
  header: 'Authorization',
  source: { kind: 'secret', name: 'key', key: 'token', format: '{}' },
};
const gone: ValueProblem = { problem: 'it is gone', remedy: 'make it' };
const unmarked: ValueProblem = { problem: 'it is not marked', remedy: 'mark it' };

let clock: FakeClock;
let lasting: LastingProblems;
let heard: string[];

beforeEach(() => {
  [clock, heard] = [new FakeClock(), []];
  lasting = new LastingProblems(clock, (_, { problem }) => heard.push(problem));
});

it('a problem counts after ten seconds, as it is then, and once', async () => {
  lasting.see(credential, gone);
  await clock.advance(9_000);
  lasting.see(credential, unmarked);
  expect(heard).toEqual([]);
  await clock.advance(1_000);
  expect(heard).toEqual([unmarked.problem]);
  await clock.advance(60_000);
  expect(heard).toHaveLength(1);
  lasting.see(credential, gone);
  await clock.advance(10_000);
  expect(heard).toEqual([unmarked.problem, gone.problem]);
});

it('a problem that is over before counts for nothing', async () => {
  lasting.see(credential, gone);
  await clock.advance(9_000);
  lasting.see(credential, undefined);
  await clock.advance(60_000);
  expect(heard).toEqual([]);
});

it('after its end it says nothing', async () => {
  lasting.see(credential, gone);
  lasting[Symbol.dispose]();
  await clock.advance(60_000);
  expect(heard).toEqual([]);
});

// A new installation with the profile small, with its requests, limits and disks, as operators make it.
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureUp } from '@sandlot/up';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { testRelease } from '../support/nodes/release.ts';
import { countReady, listBudgets, listDisks, listResources } from '../support/releases/census.ts';
import { install, readCurrent, removeLeftovers, renewMembers, uninstall } from '../support/releases/helm.ts';
import { followNotes } from '../support/releases/notes.ts';
import { getProfilePath, readSizes } from '../support/releases/profiles.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** How long the load runs, in milliseconds. */
const EACH_MS = 20_000;

const CONTROLLERS = ['sandbox-controller', 'warmpool-controller', 'claim-controller', 'snapshot-controller'];
const DEPLOYMENTS = [...CONTROLLERS, 'key-keeper', 'streams', 'api', 'gateway', 'egress'];

const stack = new AsyncDisposableStack();
let team: Team;

beforeAll(async () => {
  team = stack.use(await createTeam('profile-small'));
  const current = await readCurrent();
  // If a test fails, those after this file still find a release with the values of before.
  stack.defer(async () => {
    await ensureUp({ demo: false, observability: true });
  });
  await uninstall();
  await removeLeftovers();
  stack.defer(async () => {
    await uninstall();
    await removeLeftovers();
  });
  await install(current, team, ['--values', getProfilePath('small')]);
  await renewMembers();
});
afterAll(() => stack.disposeAsync());

it('has one replica of each process, and no budget that would keep a node from being drained', async () => {
  expect(await countReady('deployments')).toEqual(Object.fromEntries(DEPLOYMENTS.map((name) => [name, 1])));
  expect(await countReady('statefulsets')).toEqual({ nats: 1, redis: 1 });
  expect(await listBudgets(team)).toEqual([]);
});

it('has the requests, limits and volumes of the profile', async () => {
  const { resources, disks } = await readSizes('small');
  const one = ([component, value]: [string, unknown]): [string, unknown] => [component, [value]];
  expect(await listResources(team)).toMatchObject(Object.fromEntries(Object.entries(resources).map(one)));
  expect(await listDisks(team)).toEqual(Object.fromEntries(Object.entries(disks).map(one)));
});

it('passes helm test, and the commands of its notes print what a sandbox says', async () => {
  await testRelease();
  expect(await followNotes()).toContain('"stdout":"hello\\n"');
});

it('loses nothing under a load', async () => {
  await using load = await Load.start(team);
  await sleep(EACH_MS);
  const report = await load.finish();
  printReport('A new installation with the profile small', report);
  expect(listHarm(report)).toEqual(NO_HARM);
}, 600_000);

import { setTimeout as sleep } from 'node:timers/promises';
import { ensureUp } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import type { Report } from '../support/load/report.ts';
import { install, readCurrent, removeLeftovers, rollBack, uninstall, upgradeTo } from '../support/releases/helm.ts';
import { preparePrevious } from '../support/releases/previous.ts';
import type { Release } from '../support/releases/previous.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** How long the load runs under each release, in milliseconds. */
const EACH_MS = 25_000;

const stack = new AsyncDisposableStack();
let team: Team;
let current: Release;
let load: Load;
let report: Report;

beforeAll(async () => {
  const previous = await preparePrevious();
  team = stack.use(await createTeam('upgrade'));
  current = await readCurrent();
  await uninstall();
  // If a test fails, those after this file still find the release of this checkout.
  stack.defer(async () => {
    await ensureUp({ demo: false, observability: true });
  });
  await removeLeftovers();
  await install(previous, team);
  load = stack.use(await Load.start(team));
  await sleep(EACH_MS);
});
afterAll(() => stack.disposeAsync());

describe('under a steady load of claims, execs and wakes', () => {
  it.each([
    ['an upgrade from the previous release', () => upgradeTo(current)],
    ['a rollback to it', rollBack],
    ['another upgrade', () => upgradeTo(current)],
  ])(
    '%s touches no sandbox',
    async (_step, act) => {
      await act();
      await sleep(EACH_MS);
      await load.stopRequests();
      expect(await load.listTouched()).toEqual([]);
      load.startRequests();
    },
    1_200_000,
  );

  it('no claim, exec, pause or wake failed, and every event is in the stream', async () => {
    report = await load.finish();
    printReport('Upgrade, rollback, upgrade', report);
    expect(listHarm(report)).toEqual(NO_HARM);
  }, 600_000);
});

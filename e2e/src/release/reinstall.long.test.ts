import { setTimeout as sleep } from 'node:timers/promises';
import { ensureUp } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCredentials } from '../support/backup/credentials.ts';
import { listMembers, readHolding } from '../support/backup/holdings.ts';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { readTokens, tryTokens } from '../support/load/tokens.ts';
import { claimManifest, formatPoolManifest } from '../support/manifests.ts';
import { install, readCurrent, uninstall } from '../support/releases/helm.ts';
import type { Release } from '../support/releases/previous.ts';
import { waitForFullPool, waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const SPARE = 'spare';

/** How long the load runs before, and how long nothing is installed, in milliseconds. */
const EACH_MS = 20_000;

const stack = new AsyncDisposableStack();
let team: Team;
let current: Release;
let load: Load;
let credentials: string;
let tokens: readonly string[];
let members: readonly (string | undefined)[];

beforeAll(async () => {
  team = stack.use(await createTeam('reinstall'));
  load = stack.use(await Load.start(team));
  // The claims of the load use up those of the other pool.
  await team.apply(formatPoolManifest(SPARE, 'box', 1));
  await waitForFullPool(team, SPARE);
  await sleep(EACH_MS);
  current = await readCurrent();
  credentials = await readCredentials();
  tokens = readTokens(load);
  // Execs and wakes cannot succeed while there is no gateway. Claims go on, and wait.
  await load.stopRequests();
  members = await listMembers(team);
  await uninstall();
  // If a test fails, those after this file still find a release.
  stack.defer(async () => {
    await ensureUp({ demo: false, observability: true });
  });
}, 1_200_000);
afterAll(() => stack.disposeAsync());

describe('while nothing is installed', () => {
  it('claims wait, and no sandbox is touched', async () => {
    await sleep(EACH_MS);
    expect(await load.listTouchedPods()).toEqual([]);
  });
});

describe('after another installation', () => {
  beforeAll(async () => {
    await install(current, team);
    await load.reconnect();
  }, 600_000);

  it('the credentials are those of before, and every sandbox answers the token of before', async () => {
    expect(await readCredentials()).toBe(credentials);
    expect(readTokens(load)).toEqual(tokens);
    expect(await tryTokens(load, tokens)).toEqual(tokens.map(() => [200, 401]));
  });

  it('no sandbox was touched, and a member of before serves a claim', async () => {
    expect(await load.listTouched()).toEqual([]);
    await team.apply(claimManifest('after', `{warmPoolRef: {name: ${SPARE}}}`));
    await waitForReadyClaim(team, 'after');
    expect(members).toContain((await readHolding(team, 'after')).sandboxUid);
  });

  it('no claim failed, those made meanwhile included, no exec, pause or wake since, and every event is in the stream', async () => {
    load.startRequests();
    await sleep(EACH_MS);
    const report = await load.finish();
    printReport('Uninstallation and another installation', report);
    expect(listHarm(report)).toEqual(NO_HARM);
  }, 600_000);
});

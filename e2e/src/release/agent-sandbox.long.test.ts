import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentSandbox } from '@sandlot/local-cluster';
import { ensureUp } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareObjects } from '../support/agent-sandbox/migrate.ts';
import { installAgentSandbox, removeAgentSandbox } from '../support/agent-sandbox/neighbour.ts';
import { countByWriters, isServedBySandlot } from '../support/agent-sandbox/served.ts';
import { listTouched, makeLiving, wakeAll } from '../support/agent-sandbox/stock.ts';
import type { Living } from '../support/agent-sandbox/stock.ts';
import { DirectLoad, NO_DIRECT_HARM } from '../support/load/direct.ts';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { install, readCurrent, uninstall } from '../support/releases/helm.ts';
import type { Release } from '../support/releases/previous.ts';
import { waitForFullPool } from '../support/sandboxes.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** How long the load runs under each controller, in milliseconds. */
const EACH_MS = 20_000;

const stack = new AsyncDisposableStack();
let team: Team;
let load: Load;
let direct: DirectLoad;
let release: Release;
let neighbour: AgentSandbox;
/** Made under agent-sandbox. */
let theirs: Living;

beforeAll(async () => {
  team = stack.use(await createTeam('agent-sandbox'));
  load = stack.use(await Load.start(team, 'pool'));
  const asked = load.lives.filter(({ isWoken }) => !isWoken);
  direct = stack.use(
    await DirectLoad.start(
      team,
      asked.map(({ sandbox }) => sandbox),
    ),
  );
  await sleep(EACH_MS);
}, 600_000);
afterAll(() => stack.disposeAsync());

/** The steps of docs/operations/agent-sandbox.md#back-to-agent-sandbox. */
async function handBack(): Promise<void> {
  await prepareObjects();
  release = await readCurrent();
  await uninstall();
  // If a test fails, those after this file still find a release.
  stack.defer(async () => {
    await ensureUp({ demo: false, observability: true });
  });
  await prepareObjects();
  neighbour = await installAgentSandbox();
}

/** The steps of docs/operations/agent-sandbox.md#from-agent-sandbox. */
async function takeOverRunning(): Promise<void> {
  await neighbour.stop();
  await install(release, team, ['--take-ownership']);
  await removeAgentSandbox();
}

describe('from Sandlot back to agent-sandbox', () => {
  it('no sandbox is touched, and every claim keeps its sandbox', async () => {
    // The gateway goes with the release. Ends awake, because memory does not move.
    await load.stopRequests();
    await handBack();
    expect(await load.listTouchedPods()).toEqual([]);
  });

  it('agent-sandbox serves new claims and Sandboxes, in both versions', async () => {
    theirs = await makeLiving(team, 'upstream');
    await sleep(EACH_MS);
    expect(await listTouched(team, theirs)).toEqual([]);
  });
});

describe('from agent-sandbox to Sandlot', () => {
  it('no sandbox is touched, and every claim keeps its sandbox', async () => {
    await takeOverRunning();
    await load.reconnect();
    expect(await load.listTouched()).toEqual([]);
    expect(await listTouched(team, theirs)).toEqual([]);
  });

  it('templates that are applied again make sandboxes with the daemon and with memory', async () => {
    // Agent-sandbox has dropped the fields that it lacks. This applies the templates of the tenants.
    await ensureUp({ demo: false, observability: true });
    await waitForFullPool({ ...team, namespace: TENANT }, 'base');
    await load.renewWoken();
    load.startRequests();
    await sleep(EACH_MS);
  });

  it('those that slept wake, and new claims and Sandboxes are served', async () => {
    await wakeAll(team, theirs.suspended);
    await waitForFullPool(team, 'boxes');
    await makeLiving(team, 'again');
  });

  it('no call failed, and every event of what Sandlot served is in the stream', async () => {
    const calls = await direct.finish();
    const counted = await load.finish(isServedBySandlot);
    const report = { ...counted, calls: { ...counted.calls, ...calls } };
    printReport('From Sandlot to agent-sandbox and back', report);
    process.stdout.write(`Claims by who served them: ${JSON.stringify(countByWriters(load.served))}\n`);
    expect(listHarm(report)).toEqual({ ...NO_HARM, ...NO_DIRECT_HARM });
    const ours = load.served.filter(isServedBySandlot).length;
    expect(ours).toBeGreaterThan(10);
    expect(load.served.length - ours).toBeGreaterThan(5);
  }, 600_000);

  it('those that slept since the beginning wake', async () => {
    await wakeAll(team, load.living.suspended);
  });
});

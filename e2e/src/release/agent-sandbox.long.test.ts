import type { AgentSandbox } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareObjects } from '../support/agent-sandbox/migrate.ts';
import { installAgentSandbox, removeAgentSandbox } from '../support/agent-sandbox/neighbour.ts';
import { formatStock, listTouched, makeLiving, wakeAll } from '../support/agent-sandbox/stock.ts';
import type { Living } from '../support/agent-sandbox/stock.ts';
import { startWarmClaims } from '../support/load/claims.ts';
import type { Running } from '../support/load/repeat.ts';
import { Tally } from '../support/load/tally.ts';
import { install, readCurrent, uninstall } from '../support/releases/helm.ts';
import type { Release } from '../support/releases/previous.ts';
import { waitForFullPool } from '../support/sandboxes.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const stack = new AsyncDisposableStack();
let team: Team;
let load: Running;
const claims = new Tally();
let release: Release;
let neighbour: AgentSandbox;
/** Made under Sandlot, and under agent-sandbox. */
let [ours, theirs]: Living[] = [];

beforeAll(async () => {
  team = stack.use(await createTeam('agent-sandbox'));
  await team.apply(formatStock());
  await waitForFullPool(team, 'boxes');
  ours = await makeLiving(team, 'sandlot');
  load = startWarmClaims(team, claims);
  stack.defer(() => load.stop());
});
afterAll(() => stack.disposeAsync());

/** The steps of docs/operations/agent-sandbox.md#back-to-agent-sandbox. */
async function handBack(): Promise<void> {
  await prepareObjects();
  release = await readCurrent();
  await uninstall();
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
    await handBack();
    expect(await listTouched(team, ours!)).toEqual([]);
  });

  it('agent-sandbox serves new claims and Sandboxes, in both versions', async () => {
    theirs = await makeLiving(team, 'upstream');
    expect(await listTouched(team, theirs)).toEqual([]);
  });
});

describe('from agent-sandbox to Sandlot', () => {
  it('no sandbox is touched, and every claim keeps its sandbox', async () => {
    await takeOverRunning();
    expect(await listTouched(team, ours!)).toEqual([]);
    expect(await listTouched(team, theirs!)).toEqual([]);
  });

  it('those that slept wake, and new claims and Sandboxes are served', async () => {
    await wakeAll(team, [...ours!.suspended, ...theirs!.suspended]);
    await waitForFullPool(team, 'boxes');
    await makeLiving(team, 'again');
  });

  it('every claim that was made meanwhile became Ready', async () => {
    await load.stop();
    const { started, failures } = claims.read();
    expect(failures).toEqual([]);
    expect(started).toBeGreaterThan(10);
  });
});

// A node with Pods of a release that has two or more replicas of each process is emptied, under a steady load.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AddedNode } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { countByNode, watchReady } from '../support/nodes/budgets.ts';
import type { ReadyCount } from '../support/nodes/budgets.ts';
import { cordon, drainOfRelease, uncordon } from '../support/nodes/drain.ts';
import { changeRelease, waitForRollout } from '../support/nodes/release.ts';
import { addSecondNode } from '../support/nodes/second-node.ts';
import { listBudgets, listReleasePods } from '../support/releases/census.ts';
import { readProfile } from '../support/releases/profiles.ts';
import { giveNetworkDisks } from '../support/releases/server-disks.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** How long the load runs before, and after each step, in milliseconds. */
const EACH_MS = 20_000;

const stack = new AsyncDisposableStack();
let team: Team;
let node: AddedNode;
let load: Load;
let refusals: number;
let counts: ReadonlyMap<string, ReadyCount>;

beforeAll(async () => {
  team = stack.use(await createTeam('drain'));
  // Where the removal of the node takes Pods of the release, those after this file still find a release that is Ready.
  stack.defer(waitForRollout);
  node = stack.use(await addSecondNode(team));
  stack.use(await giveNetworkDisks(team));
  stack.use(await changeRelease(await readProfile('ha')));
  stack.defer(() => cordon(team, node.name));
  // The sandboxes that live through the load go to the first node: a drain moves them with their memory, which is another test.
  await cordon(team, node.name);
  load = stack.use(await Load.start(team));
  await uncordon(team, node.name);
  await sleep(EACH_MS);
}, 1_200_000);
afterAll(() => stack.disposeAsync());

/** Components with more than one replica that are not on every node anyway. */
const listReplicated = (): readonly (readonly [string, ReadyCount])[] =>
  [...counts].filter(([name, { before }]) => before > 1 && name !== 'node');

describe('a drain of the second node', () => {
  beforeAll(async () => {
    const watch = await watchReady(team);
    refusals = await drainOfRelease(node.name);
    await sleep(EACH_MS);
    counts = await watch.stop();
  }, 600_000);

  it('finds Pods of every process that has replicas, and budgets for them', async () => {
    const here = listReplicated().map(([name]) => name);
    const absent = listReplicated().filter(([, { byNode }]) => (byNode[node.name] ?? 0) === 0);
    expect(absent).toEqual([]);
    expect(await listBudgets(team)).toEqual(here.toSorted());
  });

  it('is refused an eviction while another Pod of the process is away', () => {
    expect(refusals).toBeGreaterThan(0);
  });

  it('leaves each process all of its replicas but one at any time', () => {
    const tooFew = listReplicated().filter(([, { before, fewest }]) => fewest < before - 1);
    expect(tooFew).toEqual([]);
  });

  it('moves all of them to the first node, and all are Ready there', async () => {
    const left = await listReleasePods(team);
    expect(countByNode(left)[node.name]).toBe(1);
    const watch = await watchReady(team);
    const now = await watch.stop();
    expect([...now].map(([name, { before }]) => [name, before])).toEqual(
      [...counts].map(([name, { before }]) => [name, before]),
    );
  });
});

describe('when the node is back', () => {
  it('no claim, exec, pause or wake failed, no sandbox was touched, and every event is in the stream', async () => {
    await uncordon(team, node.name);
    await sleep(EACH_MS);
    const report = await load.finish();
    printReport('A node with Pods of a release with profile ha drained', report);
    process.stdout.write(`Evictions refused: ${refusals}. Ready Pods: ${JSON.stringify([...counts])}\n`);
    expect(listHarm(report)).toEqual(NO_HARM);
  }, 600_000);
});

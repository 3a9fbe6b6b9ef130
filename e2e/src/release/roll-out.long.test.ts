// A roll-out of each process of a release that has two or more replicas of all of them, under a steady load.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { formatTimes, timeBind } from '../support/load/binds.ts';
import { Load } from '../support/load/load.ts';
import { repeat } from '../support/load/repeat.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { changeRelease } from '../support/nodes/release.ts';
import { readProfile } from '../support/releases/profiles.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const CONTROLLERS = ['claim-controller', 'sandbox-controller', 'warmpool-controller', 'snapshot-controller'];
const WORKLOADS = [...CONTROLLERS, 'api', 'gateway', 'key-keeper', 'streams', 'egress'].map(
  (name) => `deployment/sandlot-${name}`,
);
const EACH_MS = 15_000;
/** Between two claims whose binds are timed. */
const PAUSE_MS = 100;

const stack = new AsyncDisposableStack();
let team: Team;
let load: Load;
/** Milliseconds of each bind, by what was rolled out meanwhile. */
const binds = new Map<string, number[]>();
let made = 0;

beforeAll(async () => {
  team = stack.use(await createTeam('roll-out'));
  stack.use(await changeRelease(await readProfile('ha')));
  load = stack.use(await Load.start(team));
}, 1_200_000);
afterAll(() => stack.disposeAsync());

const kubectl = (...args: readonly string[]): Promise<string> =>
  runKubectlOrFail(['--namespace', inject('releaseNamespace'), ...args]);

/** Makes one claim after the other as long as `work` runs. */
async function timeBindsDuring(what: string, work: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  binds.set(what, times);
  const claims = repeat(PAUSE_MS, async () => {
    times.push(await timeBind(team, `bind-${(made += 1)}`));
  });
  await work();
  await claims.stop();
}

describe('a release with the replicas of profile ha, under a steady load', () => {
  it('binds claims when nothing is rolled out', async () => {
    await timeBindsDuring('nothing', () => sleep(EACH_MS));
  });

  it.each([...WORKLOADS, 'statefulset/sandlot-nats'])(
    'binds claims while %s is rolled out',
    async (workload) => {
      await timeBindsDuring(workload, async () => {
        await kubectl('rollout', 'restart', workload);
        await kubectl('rollout', 'status', workload, '--timeout=300s');
        await sleep(EACH_MS);
      });
    },
    600_000,
  );

  it('no claim, exec, pause or wake failed, no sandbox was touched, and every event is in the stream', async () => {
    const report = await load.finish();
    printReport('Each process of a release with profile ha rolled out', report);
    for (const [what, times] of binds)
      process.stdout.write(`Binds, rolled out meanwhile ${what}: ${formatTimes(times)}\n`);
    expect(listHarm(report)).toEqual(NO_HARM);
  }, 600_000);
});

import { setTimeout as sleep } from 'node:timers/promises';
import { findShard, leases } from '@sandlot/kube';
import type { Lease } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { killProcessesOfPod, waitUntilServing } from '../support/kill9.ts';
import { formatTimes, timeBind } from '../support/load/binds.ts';
import { Load } from '../support/load/load.ts';
import { listHarm, NO_HARM, printReport } from '../support/load/report.ts';
import { changeRelease } from '../support/nodes/release.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const COMPONENT = 'claim-controller';
const SHARDS = 2;
const REPLICAS = 3;
const KILLS = 6;
/** How long the load runs between two kills, in milliseconds. */
const EACH_MS = 15_000;

const stack = new AsyncDisposableStack();
let team: Team;
let load: Load;
/** The shard of the claims of the load. */
let shard: number;
/** From each kill until another replica took the lease of the shard, milliseconds. */
const moves: number[] = [];
/** From each kill to the first bind in the shard, milliseconds. */
const gaps: number[] = [];

beforeAll(async () => {
  team = stack.use(await createTeam('shards'));
  shard = findShard(team.namespace, SHARDS);
  const replicas = Object.fromEntries(
    ['claimController', 'sandboxController', 'warmpoolController'].map((name) => [name, { replicas: REPLICAS }]),
  );
  stack.use(await changeRelease({ controllers: { shards: SHARDS }, ...replicas }));
  load = stack.use(await Load.start(team));
  await sleep(EACH_MS);
});
afterAll(() => stack.disposeAsync());

function readLease(): Promise<Lease> {
  return team.client.get(leases, { namespace: inject('releaseNamespace'), name: `sandlot-${COMPONENT}-${shard}` });
}

describe(`a release with ${SHARDS} shards and ${REPLICAS} replicas, under a steady load`, () => {
  it.each(Array.from({ length: KILLS }, (_, round) => round))(
    'outlives the end of the holder of a shard (%i)',
    async (round) => {
      await waitUntilServing(team.client, COMPONENT, REPLICAS);
      const before = await eventually('the shard has a holder', async () => {
        const lease = await readLease();
        return (lease.spec?.holderIdentity ?? '') === '' ? undefined : lease;
      });
      await killProcessesOfPod(team.client, COMPONENT, before.spec?.holderIdentity ?? '');
      const killedMs = Date.now();
      gaps.push(await timeBind(team, `first-${round}`));
      const after = await readLease();
      expect(after.spec?.leaseTransitions).toBeGreaterThan(before.spec?.leaseTransitions ?? 0);
      moves.push(Date.parse(after.spec?.acquireTime ?? '') - killedMs);
      await sleep(EACH_MS);
    },
    600_000,
  );

  it('no claim, exec, pause or wake failed, no sandbox was touched, and every event is in the stream', async () => {
    const report = await load.finish();
    printReport('The holder of a shard killed six times', report);
    process.stdout.write(`From the kill until another replica holds the shard: ${formatTimes(moves)}\n`);
    process.stdout.write(`From the kill to the first bind in the shard: ${formatTimes(gaps)}\n`);
    expect(listHarm(report)).toEqual(NO_HARM);
  }, 600_000);
});

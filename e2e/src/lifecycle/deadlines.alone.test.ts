import { sandboxClaims } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { startComponent, killComponent } from '../support/components.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { createBox, listNames, waitForReadySandbox, waitForPhase } from '../support/lifecycle.ts';
import { GROUP } from '../support/manifests.ts';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

afterAll(() => startComponent('redis'));

/** A claim of a pool that does not exist: only its deadline matters. */
const claim = (shutdownTime: string): string => `
apiVersion: ${GROUP}/v1beta1
kind: SandboxClaim
metadata: {name: job}
spec:
  warmPoolRef: {name: none}
  lifecycle: {shutdownTime: "${shutdownTime}", shutdownPolicy: Delete}
`;

const ADMIN = 'REDISCLI_AUTH="$ADMIN_PASSWORD" redis-cli --user admin';

const redis = (command: string): Promise<string> =>
  runKubectlOrFail([
    '--namespace',
    inject('releaseNamespace'),
    'exec',
    'sandlot-redis-0',
    '--',
    'sh',
    '-c',
    `${ADMIN} ${command}`,
  ]);

/** A Kubernetes time in milliseconds; NaN when it is undefined. */
const getMs = (time: string | undefined): number => Date.parse(time ?? '');

/** When the Ready condition changed last. */
const getChangedMs = ({ status }: Sandbox): number =>
  getMs(status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime);

const claimUid = async ({ client, namespace }: Team): Promise<string> =>
  (await client.get(sandboxClaims, { namespace, name: 'job' })).metadata.uid ?? 'no claim';

/** Waits until Redis has a job for this object. */
const waitUntilHeld = (controller: string, uid: string): Promise<true> =>
  eventually(`Redis holds the deadline of ${uid}`, async () => {
    const ids = await redis(`zrange ${inject('releaseNamespace')}.sandlot:${controller}:delayed 0 -1`);
    return ids.includes(uid) ? true : undefined;
  });

describe('deadlines', () => {
  it('of a claim, a ttl and an idle limit are met although Redis is flushed and killed before', () =>
    runInTeam('deadlines', async (team) => {
      const [lasting, used] = ['lasting', 'used'];
      await createBox(team, lasting, { spec: { ttlSeconds: 45, shutdownPolicy: 'Retain' } });
      await createBox(team, used, { spec: { idle: { suspendAfterSeconds: 40 } } });
      const startedMs = getMs((await waitForReadySandbox(team, lasting)).status?.startedAt);
      const ready = await waitForReadySandbox(team, used);
      const endMs = Math.ceil(Date.now() / 1_000) * 1_000 + 30_000;
      await team.apply(claim(new Date(endMs).toISOString()));
      await waitUntilHeld('claim-controller', await claimUid(team));
      await waitUntilHeld('sandbox-controller', ready.metadata.uid ?? 'no Sandbox');

      await redis('flushall');
      await killComponent(team, 'redis');

      await eventually('the claim is gone', async () =>
        (await listNames(team, sandboxClaims)).length === 0 ? true : undefined,
      );
      expect(Date.now()).toBeGreaterThanOrEqual(endMs);
      const suspended = await waitForPhase(team, used, 'Suspended');
      expect(getMs(suspended.status?.suspendedAt)).toBeGreaterThanOrEqual(
        getMs(ready.status?.lastActivityTime) + 40_000,
      );
      expect(getChangedMs(await waitForPhase(team, lasting, 'Expired'))).toBeGreaterThanOrEqual(startedMs + 45_000);
    }));

  it('are in Redis again after it was killed and lost everything', () =>
    runInTeam('deadlines-again', async (team) => {
      await team.apply(claim(new Date(Date.now() + 3_600_000).toISOString()));
      const uid = await claimUid(team);
      await startComponent('redis');
      await waitUntilHeld('claim-controller', uid);
      await redis('flushall');
      await killComponent(team, 'redis');
      await eventually('Redis is back', async () =>
        (await redis('ping').catch(() => '')) === 'PONG' ? true : undefined,
      );
      await waitUntilHeld('claim-controller', uid);
    }));
});

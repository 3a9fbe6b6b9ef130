import { sandboxClaims } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startComponent, killComponent } from '../support/components.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { createBox, listNames, waitForReadySandbox, waitForPhase } from '../support/lifecycle.ts';
import { GROUP } from '../support/manifests.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

afterAll(() => startComponent('redis'));

/** A claim of a pool that does not exist: only its deadline matters. */
const claim = (name: string, dueMs: number): string => `
apiVersion: ${GROUP}/v1beta1
kind: SandboxClaim
metadata: {name: ${name}}
spec:
  warmPoolRef: {name: none}
  lifecycle: {shutdownTime: "${new Date(dueMs).toISOString()}", shutdownPolicy: Delete}
`;

const ADMIN = 'REDISCLI_AUTH="$ADMIN_PASSWORD" redis-cli --tls --cacert /etc/redis-tls/ca.crt --user admin';

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

const claimUid = async ({ client, namespace }: Team, name: string): Promise<string> =>
  (await client.get(sandboxClaims, { namespace, name })).metadata.uid ?? 'no claim';

/** Waits until Redis has a job for this object. */
const waitUntilHeld = (controller: string, uid: string): Promise<true> =>
  eventually(`Redis holds the deadline of ${uid}`, async () => {
    const ids = await redis(`zrange ${inject('releaseNamespace')}.sandlot:${controller}:delayed 0 -1`);
    return ids.includes(uid) ? true : undefined;
  });

describe('deadlines, after Redis was flushed and killed', () => {
  const [lasting, used] = ['lasting', 'used'];
  let team: Team;
  let startedMs: number;
  let usedMs: number;
  let endMs: number;
  beforeAll(async () => {
    team = await createTeam('deadlines');
    await createBox(team, lasting, { spec: { ttlSeconds: 40, shutdownPolicy: 'Retain' } });
    await createBox(team, used, { spec: { idle: { suspendAfterSeconds: 30 } } });
    startedMs = getMs((await waitForReadySandbox(team, lasting)).status?.startedAt);
    const ready = await waitForReadySandbox(team, used);
    usedMs = getMs(ready.status?.lastActivityTime);
    endMs = Math.ceil(Date.now() / 1_000) * 1_000 + 25_000;
    await team.apply(`${claim('job', endMs)}---${claim('far', endMs + 3_600_000)}`);
    await Promise.all([
      waitUntilHeld('claim-controller', await claimUid(team, 'job')),
      waitUntilHeld('claim-controller', await claimUid(team, 'far')),
      waitUntilHeld('sandbox-controller', ready.metadata.uid ?? 'no Sandbox'),
    ]);
    await redis('flushall');
    await killComponent(team, 'redis');
  });
  afterAll(() => team[Symbol.asyncDispose]());

  it('are met: of a claim, a ttl and an idle limit', async () => {
    await eventually('the claim is gone', async () =>
      (await listNames(team, sandboxClaims)).join() === 'far' ? true : undefined,
    );
    expect(Date.now()).toBeGreaterThanOrEqual(endMs);
    const suspended = await waitForPhase(team, used, 'Suspended');
    expect(getMs(suspended.status?.suspendedAt)).toBeGreaterThanOrEqual(usedMs + 30_000);
    expect(getChangedMs(await waitForPhase(team, lasting, 'Expired'))).toBeGreaterThanOrEqual(startedMs + 40_000);
  });

  it('are in Redis again', async () => {
    await eventually('Redis is back', async () =>
      (await redis('ping').catch(() => '')) === 'PONG' ? true : undefined,
    );
    await waitUntilHeld('claim-controller', await claimUid(team, 'far'));
  });
});

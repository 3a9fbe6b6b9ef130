import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { connectPinned } from '@sandlot/std/pinned-tls';
import { describe, expect, it } from 'vitest';
import { readDaemon } from '../support/daemon.ts';
import { claimManifest, GROUP, formatPoolManifest } from '../support/manifests.ts';
import { waitForFullPool, waitForReadyClaim, findReadyCondition, getSandboxName } from '../support/sandboxes.ts';
import { eventually, runInTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const VALUE = 'a-value-that-stands-in-no-object';

/** A template with the daemon; `container` is the rest of its container, as YAML. */
const template = (container: string): string => `
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: box}
spec:
  envVarsInjectionPolicy: Allowed
  runtime: {inject: true}
  imageOverridePolicy: {allowedImages: ["ubuntu:"]}
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: box, ${container}}]}}
`;

/** With the mark of every sandbox. */
const VARIABLES = { RUN_ID: '42', API_TOKEN: VALUE, E2B_SANDBOX: 'true' };

const SECRET = `
apiVersion: v1
kind: Secret
metadata: {name: agent-keys, labels: {sandlot.dev/claim-env: "true"}}
stringData: {token: ${VALUE}}
`;

const ENVS =
  'envs: [{name: RUN_ID, value: "42"}, {name: API_TOKEN, valueFrom: {secretKeyRef: {name: agent-keys, key: token}}}]';

async function claimSandbox(team: Team, container: string, more = ENVS): Promise<SandboxClaim> {
  await team.apply(`${template(container)}---${formatPoolManifest('pool', 'box', 1)}---${SECRET}`);
  await waitForFullPool(team, 'pool');
  await team.apply(claimManifest('job', `{warmPoolRef: {name: pool}, ${more}}`));
  return waitForReadyClaim(team, 'job');
}

function readPod(team: Team, claim: SandboxClaim): Promise<Pod> {
  return team.client.get(pods, { namespace: team.namespace, name: getSandboxName(claim) });
}

/** All objects of the namespace except the Secret, as YAML. */
function readObjects(team: Team): Promise<string> {
  return team.kubectl(
    'get',
    'sandboxes,sandboxclaims,sandboxwarmpools,sandboxtemplates,pods,events,configmaps',
    '-oyaml',
  );
}

describe.concurrent('a customised warm claim', () => {
  it('has its image and variables without a cold start, and a value from a Secret appears in no object', () =>
    runInTeam('runtime', async (team) => {
      const more = `${ENVS}, inplaceUpdate: {image: "ubuntu:24.04"}, waitReadyTimeout: 45s`;
      const claim = await claimSandbox(team, 'image: busybox, command: [sleep, infinity]', more);
      expect(getSandboxName(claim)).toMatch(/^pool-/);
      const pod = await readPod(team, claim);
      expect(pod.spec.containers[0]?.image).toBe('ubuntu:24.04');
      expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(1);
      const daemon = await readDaemon(team, claim);
      expect(await daemon.prints('echo $RUN_ID $API_TOKEN')).toBe(`42 ${VALUE}`);
      expect(await daemon.prints('head -c 6 /etc/os-release')).toBe('PRETTY');
      const everything = await readObjects(team);
      expect(everything).not.toContain(VALUE);
      expect(everything).not.toContain(Buffer.from(VALUE).toString('base64'));
    }));
});

describe.concurrent('the daemon in a bare busybox', () => {
  it.each([
    ['whose container has a command', 'image: busybox, command: [sleep, infinity]'],
    ['whose container has only arguments', 'image: busybox, args: [sleep, infinity]'],
  ])('%s, accepts only the token of the claim', (_, container) =>
    runInTeam('runtime', async (team) => {
      const claim = await claimSandbox(team, container);
      const daemon = await readDaemon(team, claim);
      expect(await daemon.envs()).toEqual(VARIABLES);
      expect(await daemon.statusOf('another')).toBe(401);
      const pod = await readPod(team, claim);
      expect(pod.spec.containers).toHaveLength(1);
      expect(pod.spec.initContainers).toBeUndefined();
      expect(pod.spec.volumes?.filter(({ image }) => image !== undefined)).toHaveLength(1);
    }),
  );

  it('shows the key that its Sandbox names, and no other Pod has it', () =>
    runInTeam('runtime', async (team) => {
      await team.apply(
        `${template('image: busybox, command: [sleep, infinity]')}---${formatPoolManifest('pool', 'box', 2)}`,
      );
      await waitForFullPool(team, 'pool');
      const { items } = await team.client.list(sandboxes, { namespace: team.namespace });
      const [mine, other] = items.map(({ status }) => ({
        host: status?.podIPs?.[0] ?? '',
        ...status?.runtime?.identity,
      }));
      if (mine === undefined || other === undefined) throw new Error('the pool has fewer than two members');
      expect(mine.ports).toEqual([49_983, 8_888]);
      for (const port of [49_983, 8_888]) {
        const connect = (publicKeyHash = '') =>
          connectPinned({ host: mine.host, port, publicKeyHash }, AbortSignal.timeout(10_000));
        (await connect(mine.publicKeyHash)).destroy();
        await expect(connect(other.publicKeyHash)).rejects.toThrow('another server has its address');
      }
    }));

  it('gets the variables again after a resume, before the claim is Ready', () =>
    runInTeam('runtime', async (team) => {
      const claim = await claimSandbox(team, 'image: busybox, command: [sleep, infinity]');
      const name = getSandboxName(claim);
      const before = await readPod(team, claim);
      await team.kubectl('patch', 'sbx', name, '--type=merge', '-p', '{"spec":{"operatingMode":"Suspended"}}');
      await eventually('the claim is no longer Ready', async () => {
        const now = await team.client.get(sandboxClaims, { namespace: team.namespace, name: 'job' });
        return findReadyCondition(now)?.reason === 'SandboxSuspended' ? true : undefined;
      });
      await team.kubectl('wait', '--for=delete', `pod/${name}`, '--timeout=60s');
      await team.kubectl('patch', 'sbx', name, '--type=merge', '-p', '{"spec":{"operatingMode":"Running"}}');
      const resumed = await waitForReadyClaim(team, 'job');
      expect((await readPod(team, resumed)).metadata.uid).not.toBe(before.metadata.uid);
      expect(await (await readDaemon(team, resumed)).envs()).toEqual(VARIABLES);
    }));

  it('keeps the variables over a restart of its container', () =>
    runInTeam('runtime', async (team) => {
      const claim = await claimSandbox(team, 'image: busybox, command: [sleep, infinity]');
      const { namespace } = team;
      await team.kubectl('exec', getSandboxName(claim), '--', 'sh', '-c', 'kill $(pidof sleep)');
      await eventually('the container was restarted', async () => {
        const [container] = (await readPod(team, claim)).status?.containerStatuses ?? [];
        return container?.restartCount === 1 && container.ready === true ? true : undefined;
      });
      const again = await team.client.get(sandboxClaims, { namespace, name: 'job' });
      const daemon = await readDaemon(team, again);
      const isBack = (): Promise<true | undefined> =>
        daemon.envs().then(
          () => true,
          () => undefined,
        );
      await eventually('the daemon answers again', isBack);
      expect(await daemon.envs()).toEqual(VARIABLES);
    }));
});

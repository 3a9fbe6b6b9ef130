import { sandboxes } from '@sandlot/api-types';
import type { CloudEvent } from '@sandlot/bus';
import { PoisonError } from '@sandlot/bus';
import { promQuery } from '@sandlot/local-cluster';
import { prometheusUrl } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RUNS_UNTIL_ENDED, endWith } from '../support/boxes.ts';
import { EventRecorder, listSandlotEvents } from '../support/events.ts';
import { createBox, patchSpec, waitForReadySandbox, waitForPhase } from '../support/lifecycle.ts';
import { claimManifest, GROUP, formatTemplateManifest } from '../support/manifests.ts';
import { waitForClaimReason, waitForFullPool, waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';
import { requestWakes } from '../support/wake-requests.ts';

const PATIENCE = { timeout: 60_000, interval: 200 };

const boxVersion = (version: number): string =>
  formatTemplateManifest('box', `image: busybox, env: [{name: VERSION, value: "${version}"}]`);

const nowhere = formatTemplateManifest('nowhere', 'image: busybox').replace(
  'terminationGracePeriodSeconds: 0',
  'nodeSelector: {kubernetes.io/hostname: nowhere}',
);

const formatPool = (name: string, template: string, rest: string): string => `
apiVersion: ${GROUP}/v1beta1
kind: SandboxWarmPool
metadata: {name: ${name}}
spec: {replicas: 1, sandboxTemplateRef: {name: ${template}}, ${rest}}
`;

/** Of a Sandbox that is not in gVisor. */
const REFUSED = `
apiVersion: sandlot.dev/v1alpha1
kind: SandboxSnapshot
metadata: {name: refused}
spec: {sandboxName: plain}
`;

const COLD = 'sandboxTemplateRef: {name: box}, warmpool: none';
const listIds = (events: readonly CloudEvent[]): string[] => events.map(({ id }) => id);

let team: Team;
let recorder: EventRecorder;
beforeAll(async () => {
  team = await createTeam('events');
  recorder = await EventRecorder.open(team);
});
afterAll(async () => {
  await recorder[Symbol.asyncDispose]();
  await team[Symbol.asyncDispose]();
});

const claim = (name: string, spec: string): Promise<void> => team.apply(claimManifest(name, `{${spec}}`));

/** Waits until exactly these events of the object have arrived. */
const expectEvents = (kind: string, name: string, ...types: readonly string[]): Promise<void> =>
  expect.poll(() => recorder.listTypes(kind, name), PATIENCE).toEqual(types.toSorted());

describe('events, through a durable consumer', () => {
  it('describe a template and its pool, which is depleted, refilled and rolled out', async () => {
    await team.apply([boxVersion(1), formatPool('boxes', 'box', 'updateStrategy: {type: RollingUpdate}')].join('---'));
    await waitForFullPool(team, 'boxes');
    await expectEvents('template', 'box', 'changed');
    await expectEvents('pool', 'boxes', 'ready');
    await claim('warm', 'warmPoolRef: {name: boxes}');
    await waitForReadyClaim(team, 'warm');
    await waitForFullPool(team, 'boxes');
    await expectEvents('pool', 'boxes', 'depleted', 'ready', 'ready');
    await team.apply(boxVersion(2));
    await expectEvents('template', 'box', 'changed', 'changed');
    await expect
      .poll(() => recorder.listTypes('pool', 'boxes').filter((type) => type.startsWith('rollout')), PATIENCE)
      .toEqual(['rollout.finished', 'rollout.started']);
  });

  it('describe a stuck pool', async () => {
    const stuckMember = 'stuckMember: {graceSeconds: 10, unschedulable: Hold}';
    await team.apply([nowhere, formatPool('stuck', 'nowhere', stuckMember)].join('---'));
    await expectEvents('pool', 'stuck', 'stuck');
  });

  it('describe claims: warm, cold, refused, expired and a batch', async () => {
    await claim('cold', COLD);
    await claim('refused', 'sandboxTemplateRef: {name: box}, additionalPodMetadata: {labels: {team: a}}');
    await claim('batch', 'sandboxTemplateRef: {name: box}, replicas: 2');
    const shutdownTime = new Date(Date.now() + 12_000).toISOString().replace(/\.\d+Z$/, 'Z');
    await claim('brief', `${COLD}, lifecycle: {shutdownTime: "${shutdownTime}", shutdownPolicy: Retain}`);
    await waitForClaimReason(team, 'brief', 'ClaimExpired');
    await expectEvents('claim', 'warm', 'submitted', 'bound');
    await expectEvents('claim', 'cold', 'submitted', 'bound');
    await expectEvents('claim', 'refused', 'submitted', 'failed');
    await expectEvents('claim', 'batch', 'submitted', 'bound', 'bound', 'completed');
    await expectEvents('claim', 'brief', 'submitted', 'bound', 'expired');
    const launches = recorder.events.filter(({ type }) => type === 'claim.bound').map(({ data }) => data);
    expect(launches).toContainEqual(expect.objectContaining({ name: 'warm', launchType: 'warm' }));
    expect(launches).toContainEqual(expect.objectContaining({ name: 'cold', launchType: 'cold' }));
  });

  it('describe Sandboxes: suspended, resumed, finished, expired and deleted', async () => {
    await createBox(team, 'sleeper', { spec: { startup: { action: 'Suspended' } } });
    await createBox(team, 'ends', { run: RUNS_UNTIL_ENDED });
    await createBox(team, 'brief', { spec: { ttlSeconds: 3, shutdownPolicy: 'Retain' } });
    await requestWakes(team, [await waitForPhase(team, 'sleeper', 'Suspended')]);
    await waitForReadySandbox(team, 'sleeper');
    await expectEvents('sandbox', 'sleeper', 'created', 'suspended', 'wake.requested', 'resumed', 'ready');
    await patchSpec(team, 'sleeper', { operatingMode: 'Suspended' });
    await expectEvents('sandbox', 'sleeper', 'created', 'suspended', 'wake.requested', 'resumed', 'ready', 'suspended');
    await waitForReadySandbox(team, 'ends');
    await team.sh('ends', endWith(3));
    await expectEvents('sandbox', 'ends', 'created', 'ready', 'finished');
    await waitForPhase(team, 'brief', 'Expired');
    await team.client.delete(sandboxes, { namespace: team.namespace, name: 'ends' });
    await expectEvents('sandbox', 'ends', 'created', 'ready', 'finished', 'deleted');
    await expect.poll(() => recorder.listTypes('sandbox', 'brief'), PATIENCE).toContain('expired');
  });

  it('describe a Sandbox that hibernates, its memory, and a snapshot that fails', async () => {
    const hibernating = {
      pod: { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 0 },
      spec: { suspensionStrategy: { type: 'Hibernate' } },
    } as const;
    await createBox(team, 'dreamer', hibernating);
    await waitForReadySandbox(team, 'dreamer');
    await patchSpec(team, 'dreamer', { operatingMode: 'Suspended' });
    await waitForPhase(team, 'dreamer', 'Suspended');
    await patchSpec(team, 'dreamer', { operatingMode: 'Running' });
    await waitForReadySandbox(team, 'dreamer');
    const cycle = ['created', 'ready', 'hibernated', 'suspended', 'resumed', 'restored', 'ready'];
    await expectEvents('sandbox', 'dreamer', ...cycle);
    await createBox(team, 'plain');
    await waitForReadySandbox(team, 'plain');
    await team.apply(REFUSED);
    await expectEvents('snapshot', 'refused', 'failed');
    const find = (type: string) => recorder.events.find((event) => event.type === type)?.data;
    expect(find('sandbox.hibernated')).toMatchObject({ name: 'dreamer', kept: 'Memory' });
    expect(find('sandbox.restored')).toMatchObject({ name: 'dreamer', kept: 'Memory' });
    expect(find('snapshot.ready')).toMatchObject({ sandbox: { name: 'dreamer' } });
    expect(find('snapshot.failed')).toMatchObject({ name: 'refused', reason: 'NotGVisor' });
  });

  it('arrive once, with unique ids', () => {
    const ids = listIds(recorder.events);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(recorder.outcomes)).toEqual(new Set(['handled']));
  });
});

describe('sandlot events', () => {
  const ask = (...more: readonly string[]): Promise<string[]> =>
    listSandlotEvents('--since', '1h', '--subject', 'claim.*', '--namespace', team.namespace, ...more);

  it('shows the same events as JSON lines and as a table', async () => {
    const heard = recorder.events.filter(({ type }) => type.startsWith('claim.'));
    const shown = (await ask('-o', 'json')).map((line) => JSON.parse(line) as CloudEvent);
    expect(listIds(shown).toSorted()).toEqual(listIds(heard).toSorted());
    const [head = '', ...rows] = await ask();
    const at = head.indexOf('OBJECT');
    expect(rows.map((row) => row.slice(at).split(' ')[0])).toEqual(
      shown.map(({ data }) => `${data.namespace}/${data.name}`),
    );
  });
});

describe('an event that a consumer refuses', () => {
  it('becomes a dead letter that the command counts, shows and replays', async () => {
    const tries: string[] = [];
    let isRepaired = false;
    await using worker = recorder.bus.consume({
      durable: `${team.namespace}-worker`,
      filter: `sandlot.${team.namespace}.claim.submitted`,
      handle: async ({ data: { name } }) => {
        tries.push(name);
        if (name === 'poison' && !isRepaired) throw new PoisonError('cannot be handled');
      },
    });
    expect(worker).toBeDefined();
    await claim('poison', COLD);
    const letters = async (...more: readonly string[]): Promise<string[]> => {
      const lines = await listSandlotEvents('dead-letters', '-o', 'json', ...more);
      return lines.filter((line) => line.includes(`"${team.namespace}-worker"`));
    };
    const [letter = ''] = await eventually('the event is a dead letter', async () => {
      const found = await letters();
      return found.length > 0 ? found : undefined;
    });
    expect(letter).toContain('"name":"poison"');
    await eventually('the metric counts it', async () => {
      const [counted] = await promQuery(prometheusUrl, 'max(sandlot_outbox_dead_letters)');
      return counted !== undefined && counted.value > 0 ? true : undefined;
    });
    isRepaired = true;
    expect(await letters('--replay')).toEqual([expect.stringContaining('"replayed":true')]);
    await expect.poll(() => tries.filter((name) => name === 'poison').length, PATIENCE).toBe(2);
    expect(await letters()).toEqual([]);
  });
});

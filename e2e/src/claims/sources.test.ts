import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { persistentVolumeClaims, pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimManifest, GROUP, formatPoolManifest } from '../support/manifests.ts';
import {
  waitForClaimReason,
  waitForFullPool,
  waitForReadyClaim,
  readSandboxNamed,
  getSandboxName,
} from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const disk = (name: string, size: string): string =>
  `{metadata: {name: ${name}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: ${size}}}}}`;

/** A template that allows its claims everything and has a disk and a variable. */
const template = `
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: open}
spec:
  envVarsInjectionPolicy: Overrides
  volumeClaimTemplatesPolicy: Overrides
  imageOverridePolicy: {allowedImages: ["registry.invalid/"]}
  podTemplate:
    metadata: {labels: {tier: gold}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - {name: box, image: busybox, command: [sleep, infinity], env: [{name: COLOUR, value: red}], volumeMounts: [{name: work, mountPath: /work}]}
  volumeClaimTemplates: [${disk('work', '1Gi')}]
`;

let team: Team;
beforeAll(async () => {
  team = await createTeam('sources');
  await team.apply(`${template}---${formatPoolManifest('pool', 'open', 2)}`);
  await waitForFullPool(team, 'pool');
});
afterAll(() => team[Symbol.asyncDispose]());

const readPod = (name: string) => team.client.get(pods, { namespace: team.namespace, name });

async function serveClaim(name: string, spec: string, version?: string) {
  await team.apply(claimManifest(name, spec, version));
  const sandboxName = getSandboxName(await waitForReadyClaim(team, name));
  const { metadata } = await readSandboxNamed(team, sandboxName);
  return { name: sandboxName, launchType: metadata.labels?.['agents.x-k8s.io/launch-type'] };
}

describe('a claim of a pool with stock', () => {
  it('adopts a member by the name of the pool or of its template', async () => {
    const byPool = await serveClaim('by-pool', '{warmPoolRef: {name: pool}}');
    expect(byPool).toEqual({ name: expect.stringMatching(/^pool-/) as string, launchType: 'warm' });
    await waitForFullPool(team, 'pool');
    const byTemplate = await serveClaim('by-template', '{sandboxTemplateRef: {name: open}}', 'v1alpha1');
    expect(byTemplate).toEqual({ name: expect.stringMatching(/^pool-/) as string, launchType: 'warm' });
  });

  it.each([
    [
      'variables',
      '{warmPoolRef: {name: pool}, env: [{name: COLOUR, value: blue}, {name: SIZE, value: xl}]}',
      'v1beta1',
    ],
    [
      'volumes',
      `{warmPoolRef: {name: pool}, volumeClaimTemplates: [${disk('work', '2Gi')}, ${disk('more', '1Gi')}]}`,
      'v1beta1',
    ],
    ['no warm pool', '{sandboxTemplateRef: {name: open}, warmpool: none}', 'v1alpha1'],
  ])('starts cold under its own name when it asks for %s', async (what, spec, version) => {
    await waitForFullPool(team, 'pool');
    const name = `cold-${what.split(' ')[0] ?? ''}`;
    expect(await serveClaim(name, spec, version)).toEqual({ name, launchType: 'cold' });
  });

  it('gives a cold Sandbox the variables and volumes of the claim', async () => {
    expect(await team.sh('cold-variables', 'echo $COLOUR $SIZE')).toBe('blue xl');
    const { items } = await team.client.listAll(persistentVolumeClaims, { namespace: team.namespace });
    const sizes = items
      .filter(({ metadata }) => metadata.name?.endsWith('-cold-volumes') === true)
      .map(({ metadata, spec }) => `${metadata.name ?? ''} ${spec.resources?.requests?.['storage'] ?? ''}`);
    expect(sizes.sort()).toEqual(['more-cold-volumes 1Gi', 'work-cold-volumes 2Gi']);
  });
});

describe('pod metadata', () => {
  it('comes from the template and the claim, and follows changes of both', async () => {
    const metadata = '{labels: {sandbox.users.io/user: alice}, annotations: {note: first}}';
    const { name } = await serveClaim('tagged', `{warmPoolRef: {name: pool}, additionalPodMetadata: ${metadata}}`);
    await eventually('the pod has it', async () => {
      const { labels = {}, annotations = {} } = (await readPod(name)).metadata;
      const seen = [labels['tier'], labels['sandbox.users.io/user'], annotations['note']].join(' ');
      return seen === 'gold alice first' ? true : undefined;
    });
    expect((await readPod(name)).metadata.labels).not.toHaveProperty('agents.x-k8s.io/warm-pool-sandbox');
    const change = '{"spec":{"additionalPodMetadata":{"labels":{"sandbox.users.io/user":"bob"},"annotations":null}}}';
    await team.kubectl('patch', 'sbc/tagged', '--type=merge', '-p', change);
    const tier = '{"spec":{"podTemplate":{"metadata":{"labels":{"tier":"silver"}}}}}';
    await team.kubectl('patch', 'sbt/open', '--type=merge', '-p', tier);
    await eventually('the pod follows', async () => {
      const { labels = {}, annotations = {} } = (await readPod(name)).metadata;
      const seen = [labels['tier'], labels['sandbox.users.io/user'], annotations['note'] ?? 'none'].join(' ');
      return seen === 'silver bob none' ? true : undefined;
    });
  });
});

describe('pod metadata of a batch', () => {
  it('follows changes of the claim', async () => {
    const spec = '{warmPoolRef: {name: pool}, replicas: 3, additionalPodMetadata: {annotations: {note: first}}}';
    await team.apply(claimManifest('many', spec));
    await waitForReadyClaim(team, 'many');
    const all = (note: string) =>
      eventually(`all pods have the note ${note}`, async () => {
        const labelSelector = 'sandlot.dev/claim-name=many';
        const { items } = await team.client.listAll(pods, { namespace: team.namespace, labelSelector });
        const notes = items.map(({ metadata }) => metadata.annotations?.['note']);
        return notes.join() === [note, note, note].join() ? items : undefined;
      });
    await all('first');
    const change = '{"spec":{"additionalPodMetadata":{"annotations":{"note":"second"}}}}';
    await team.kubectl('patch', 'sbc/many', '--type=merge', '-p', change);
    await all('second');
  });
});

describe('a claim whose image cannot be pulled', () => {
  it('tries until its claimTimeout, and keeps failed Sandboxes isolated with reserveFailedSandbox', async () => {
    await waitForFullPool(team, 'pool');
    const image = 'inplaceUpdate: {image: "registry.invalid/ghost:1"}';
    const times = 'waitReadyTimeout: 4s, claimTimeout: 10s, reserveFailedSandbox: true';
    await team.apply(
      claimManifest('doomed', `{warmPoolRef: {name: pool}, createOnNoStock: false, ${image}, ${times}}`),
    );
    const { status } = await waitForClaimReason(team, 'doomed', 'ClaimTimeout');
    expect(status?.phase).toBe('Failed');
    const kept = await eventually('failed sandboxes are kept', async () => {
      const labelSelector = 'sandlot.dev/reserved-failed=true';
      const { items } = await team.client.listAll(pods, { namespace: team.namespace, labelSelector });
      return items.length > 0 ? items : undefined;
    });
    const { metadata } = await team.client.get(pods, { namespace: team.namespace, name: 'cold-no' });
    const key = 'agents.x-k8s.io/sandbox-template-ref-hash';
    for (const pod of kept) {
      expect(pod.metadata.labels?.[key]).toBe(metadata.labels?.[key]);
      const sandbox = await readSandboxNamed(team, pod.metadata.name ?? '');
      expect(sandbox.metadata.ownerReferences ?? []).toEqual([]);
    }
  });

  it('deletes the failed Sandboxes when reserveFailedSandboxFor is over, although the claim is gone', async () => {
    await waitForFullPool(team, 'pool');
    const image = 'inplaceUpdate: {image: "registry.invalid/ghost:1"}';
    const times = 'waitReadyTimeout: 2s, claimTimeout: 4s, reserveFailedSandbox: true, reserveFailedSandboxFor: 15s';
    await team.apply(claimManifest('brief', `{warmPoolRef: {name: pool}, createOnNoStock: false, ${image}, ${times}}`));
    await waitForClaimReason(team, 'brief', 'ClaimTimeout');
    const labelSelector = 'sandlot.dev/reserved-failed=true,sandlot.dev/claim-name=brief';
    const find = async () => (await team.client.listAll(sandboxes, { namespace: team.namespace, labelSelector })).items;
    const kept = await eventually('failed sandboxes are kept', async () => {
      const items = await find();
      return items.length > 0 ? items : undefined;
    });
    for (const { spec } of kept) expect(spec.shutdownPolicy).toBe('Delete');
    await team.kubectl('delete', 'sbc/brief');
    await eventually('their time is over', async () => ((await find()).length === 0 ? true : undefined));
    expect(Date.now()).toBeGreaterThanOrEqual(Math.max(...kept.map(({ spec }) => Date.parse(spec.shutdownTime ?? ''))));
  });
});

describe('claims without stock', () => {
  it('report that they wait, and are served in the order of their creation', async () => {
    await team.apply(formatPoolManifest('scarce', 'open', 0));
    for (const name of ['first', 'second', 'third']) {
      await team.apply(claimManifest(name, '{warmPoolRef: {name: scarce}, createOnNoStock: false}'));
      await waitForClaimReason(team, name, 'WaitingForStock');
    }
    await team.kubectl('scale', 'swp/scarce', '--replicas=1');
    const times: string[] = [];
    for (const name of ['first', 'second', 'third']) {
      const { status } = await waitForReadyClaim(team, name);
      times.push(status?.completionTime ?? '');
    }
    expect([...times].sort()).toEqual(times);
    await waitForFullPool(team, 'scarce');
  });
});

describe('shutdownTime of a claim', () => {
  it.concurrent.each([
    ['Delete', 0, 0],
    ['DeleteForeground', 0, 0],
    ['Retain', 1, 0],
  ])('ends the claim under %s', async (policy, claims, sandboxes) => {
    const name = `ends-${policy.toLowerCase()}`;
    const lifecycle = `{shutdownPolicy: ${policy}}`;
    await team.apply(
      claimManifest(name, `{sandboxTemplateRef: {name: open}, warmpool: none, lifecycle: ${lifecycle}}`),
    );
    await waitForReadyClaim(team, name);
    // A time from before a slow start could be over before the claim is Ready.
    const shutdownTime = new Date(Date.now() + 3_000).toISOString().replace(/\.\d+Z$/, 'Z');
    await team.client.mergePatch(
      sandboxClaims,
      { namespace: team.namespace, name },
      { spec: { lifecycle: { shutdownTime } } },
    );
    await eventually(`${name} has ended`, async () => {
      const found = await Promise.all(
        ['sbc', 'sbx'].map((kind) => team.kubectl('get', kind, name, '--ignore-not-found', '-o', 'name')),
      );
      const counts = found.map((text) => (text === '' ? 0 : 1));
      return counts[0] === claims && counts[1] === sandboxes ? true : undefined;
    });
  });
});

describe('kubectl get', () => {
  it.each([
    ['sbc', ['NAME', 'READY', 'SANDBOX', 'REASON', 'AGE', 'PHASE', 'DESIRED', 'CLAIMED', 'TEMPLATE', 'POOL']],
    ['swp', ['NAME', 'READY', 'DESIRED', 'AGE', 'TARGET', 'UPDATED', 'INUSE', 'TEMPLATE']],
    ['sbt', ['NAME', 'AGE', 'POOLS', 'NETWORKPOLICY', 'HASH']],
    ['sbx', ['NAME', 'READY', 'REASON', 'AGE', 'PHASE', 'NODE', 'IP', 'EXPIRES']],
  ])('shows the documented columns of %s', async (short, columns) => {
    const [header = ''] = (await team.kubectl('get', short, '-o', 'wide')).split('\n');
    expect(header.trim().split(/\s+/)).toEqual(columns);
  });
});

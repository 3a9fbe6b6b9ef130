import { sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { networkPolicies } from '@sandlot/kube';
import type { NetworkPolicy } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

const NETWORK = 'sandlot.dev/network';
const APPLIED = 'sandlot.dev/network-applied';
const CLOSED = '{"allowInternetAccess":false,"allowOut":[],"denyOut":[]}';
const OPEN = '{"allowOut":[],"denyOut":[]}';
const INGRESS = [{ from: [{ podSelector: { matchLabels: { app: 'gateway' } } }] }];
const EGRESS = [{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }] }];
const at = (name: string) => ({ namespace: 'default', name });

/** What the warmpool-controller writes for the template. */
function addTemplatePolicy(world: ClaimWorld): void {
  const [template] = world.api.objects(sandboxTemplates);
  const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name: 'template' };
  const ownerReferences = [{ ...owner, uid: template?.metadata.uid ?? '', controller: true }];
  world.api.seed(networkPolicies, {
    metadata: { ...at('template-network-policy'), ownerReferences },
    spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: INGRESS, egress: EGRESS },
  });
}

async function started({ policy = true } = {}): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members: 1 });
  if (policy) addTemplatePolicy(world);
  world.startController();
  await world.watching();
  return world;
}

/** The sandbox-controller: the Pod bears the labels of this generation. */
function followed(world: ClaimWorld, name: string): void {
  world.api.change(sandboxes, at(name), ({ metadata, status }) => {
    for (const condition of status?.conditions ?? []) condition.observedGeneration = metadata.generation ?? 0;
  });
}

const ask = (world: ClaimWorld, text: string): void =>
  void world.api.change(sandboxClaims, at('job'), ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, [NETWORK]: text };
  });

const policyOf = (world: ClaimWorld, name = 'job-network'): NetworkPolicy | undefined =>
  world.api.object(networkPolicies, at(name));

const rulesOf = (policy: NetworkPolicy | undefined): unknown => [
  policy?.spec?.ingress ?? [],
  policy?.spec?.egress ?? [],
];

const labelsOf = (world: ClaimWorld): unknown => {
  const sandbox = world.sandbox('pool-m001');
  return [sandbox?.metadata.labels?.[NETWORK], sandbox?.spec.podTemplate.metadata?.labels?.[NETWORK]];
};

describe('a claim with egress rules of its own', () => {
  it('has its policies before it has a Sandbox, and is Ready once the Pod is under them', async () => {
    await using world = await started();
    world.claim('job', {}, { [NETWORK]: CLOSED, [APPLIED]: CLOSED });
    await world.eventually(() => expect(world.owned().get('job')).toEqual(['pool-m001']));
    expect(labelsOf(world)).toEqual(['own', 'own']);
    expect(world.writes().slice(0, 3)).toEqual(['create networkpolicies', 'create networkpolicies', 'patch sandboxes']);
    await world.elapse(1_000);
    expect(world.isReady('job')).toBe(false);
    followed(world, 'pool-m001');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    const { uid } = world.api.object(sandboxClaims, at('job'))?.metadata ?? {};
    expect(policyOf(world)).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'SandboxClaim', name: 'job', uid, controller: true }] },
      spec: {
        podSelector: { matchLabels: { 'agents.x-k8s.io/claim-uid': uid } },
        policyTypes: ['Ingress', 'Egress'],
        ingress: INGRESS,
      },
    });
    expect(rulesOf(policyOf(world))).toEqual([INGRESS, []]);
    expect(policyOf(world, 'template-network-baseline')?.spec).toMatchObject({
      podSelector: { matchLabels: { [NETWORK]: 'own' } },
      policyTypes: ['Ingress', 'Egress'],
    });
    expect(rulesOf(policyOf(world, 'template-network-baseline'))).toEqual([[], []]);
    const before = world.writes().length;
    await world.elapse(60_000);
    expect(world.writes().slice(before)).toEqual(['patch sandboxclaims']);
  });

  it('waits for the policy of its template', async () => {
    await using world = await started({ policy: false });
    world.claim('job', {}, { [NETWORK]: CLOSED });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ReconcilerError'));
    expect(world.owned().get('job')).toBeUndefined();
    addTemplatePolicy(world);
    await world.eventually(() => expect(world.owned().get('job')).toEqual(['pool-m001']));
  });

  it('follows its template: what that no longer allows, it does not either', async () => {
    await using world = await started();
    world.claim('job', {}, { [NETWORK]: '{"denyOut":["8.8.8.8"]}' });
    const blocks = (): unknown => policyOf(world)?.spec?.egress;
    const except = ['10.0.0.0/8', '8.8.8.8/32'];
    await world.eventually(() => expect(blocks()).toEqual([{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except } }] }]));
    world.api.change(networkPolicies, at('template-network-policy'), ({ spec }) => {
      if (spec !== undefined) spec.egress = [];
    });
    await world.eventually(() => expect(blocks() ?? []).toEqual([]));
  });

  it('that asks for what cannot be read reaches nothing', async () => {
    await using world = await started();
    world.claim('job', {}, { [NETWORK]: '{"denyOut":["all of it"]}' });
    await world.eventually(() => expect(policyOf(world)?.spec?.policyTypes).toEqual(['Ingress', 'Egress']));
    expect(policyOf(world)?.spec?.egress ?? []).toEqual([]);
  });

  it('leaves a policy of its name alone that is somebody else’s', async () => {
    await using world = await started();
    world.api.seed(networkPolicies, { metadata: at('job-network'), spec: { podSelector: {}, egress: [{}] } });
    await world.elapse(20);
    world.claim('job', {}, { [NETWORK]: CLOSED });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('ReconcilerError'));
    expect(policyOf(world)?.spec?.egress).toEqual([{}]);
    expect(world.owned().get('job')).toBeUndefined();
  });

  it('is put right when somebody changes or deletes what holds it', async () => {
    await using world = await started();
    world.claim('job', {}, { [NETWORK]: CLOSED });
    await world.eventually(() => expect(policyOf(world)).toBeDefined());
    world.api.change(networkPolicies, at('job-network'), ({ spec }) => {
      if (spec !== undefined) spec.egress = [{}];
    });
    await world.eventually(() => expect(policyOf(world)?.spec?.egress ?? []).toEqual([]));
    world.api.remove(networkPolicies, at('job-network'));
    await world.eventually(() => expect(policyOf(world)).toBeDefined());
  });
});

describe('a change of the rules of a claim that is served', () => {
  async function served(): Promise<ClaimWorld> {
    const world = await started();
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    await world.elapse(1_000);
    return world;
  }

  it('never shows it unready, and is told once policies and Pod are as asked', async () => {
    await using world = await served();
    expect(world.writes().filter((write) => write.includes('networkpolicies'))).toEqual([]);
    ask(world, CLOSED);
    await world.eventually(() => expect(labelsOf(world)).toEqual(['own', 'own']));
    expect(policyOf(world)?.spec?.egress ?? []).toEqual([]);
    await world.elapse(1_000);
    expect(world.annotationsOf('job')[APPLIED]).toBeUndefined();
    expect(world.isReady('job')).toBe(true);
    followed(world, 'pool-m001');
    await world.eventually(() => expect(world.annotationsOf('job')[APPLIED]).toBe(CLOSED));
    ask(world, OPEN);
    await world.eventually(() => expect(world.annotationsOf('job')[APPLIED]).toBe(OPEN));
    expect(policyOf(world)?.spec?.egress).toEqual(EGRESS);
    expect(labelsOf(world)).toEqual(['own', 'own']);
    expect(world.isReady('job')).toBe(true);
  });
});

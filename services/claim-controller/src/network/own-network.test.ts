import { sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { networkPolicies } from '@sandlot/kube';
import type { NetworkPolicy } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const NETWORK = 'sandlot.dev/network';
const APPLIED = 'sandlot.dev/network-applied';
const CLOSED = '{"allowInternetAccess":false,"allowOut":[],"denyOut":[]}';
const OPEN = '{"allowOut":[],"denyOut":[]}';
const INGRESS = [{ from: [{ podSelector: { matchLabels: { app: 'gateway' } } }] }];
const EGRESS = [{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }] }];
const at = (name: string) => ({ namespace: 'default', name });

/** The policy that the warmpool-controller writes for the template. */
function addTemplatePolicy(harness: ClaimHarness): void {
  const [template] = harness.api.objects(sandboxTemplates);
  const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name: 'template' };
  const ownerReferences = [{ ...owner, uid: template?.metadata.uid ?? '', controller: true }];
  harness.api.seed(networkPolicies, {
    metadata: { ...at('template-network-policy'), ownerReferences },
    spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: INGRESS, egress: EGRESS },
  });
}

async function started({ policy = true } = {}): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members: 1, secured: policy });
  if (policy) addTemplatePolicy(harness);
  harness.startController();
  await harness.watching();
  return harness;
}

/** The sandbox-controller: the Pod has the labels of this generation. */
function followed(harness: ClaimHarness, name: string): void {
  harness.api.change(sandboxes, at(name), ({ metadata, status }) => {
    for (const condition of status?.conditions ?? []) condition.observedGeneration = metadata.generation ?? 0;
  });
}

const ask = (harness: ClaimHarness, text: string): void =>
  void harness.api.change(sandboxClaims, at('job'), ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, [NETWORK]: text };
  });

const findPolicy = (harness: ClaimHarness, name = 'job-network'): NetworkPolicy | undefined =>
  harness.api.object(networkPolicies, at(name));

const getRules = (policy: NetworkPolicy | undefined): unknown => [
  policy?.spec?.ingress ?? [],
  policy?.spec?.egress ?? [],
];

const getLabels = (harness: ClaimHarness): unknown => {
  const sandbox = harness.sandbox('pool-m001');
  return [sandbox?.metadata.labels?.[NETWORK], sandbox?.spec.podTemplate.metadata?.labels?.[NETWORK]];
};

describe('a claim with egress rules of its own', () => {
  it('has its policies before it has a Sandbox, and becomes Ready once they apply to the Pod', async () => {
    await using harness = await started();
    harness.claim('job', {}, { [NETWORK]: CLOSED, [APPLIED]: CLOSED });
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['pool-m001']));
    expect(getLabels(harness)).toEqual(['own', 'own']);
    expect(harness.writes().slice(0, 3)).toEqual([
      'create networkpolicies',
      'create networkpolicies',
      'patch sandboxes',
    ]);
    await harness.elapse(1_000);
    expect(harness.isReady('job')).toBe(false);
    followed(harness, 'pool-m001');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    const { uid } = harness.api.object(sandboxClaims, at('job'))?.metadata ?? {};
    expect(findPolicy(harness)).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'SandboxClaim', name: 'job', uid, controller: true }] },
      spec: {
        podSelector: { matchLabels: { 'agents.x-k8s.io/claim-uid': uid } },
        policyTypes: ['Ingress', 'Egress'],
        ingress: INGRESS,
      },
    });
    expect(getRules(findPolicy(harness))).toEqual([INGRESS, []]);
    expect(findPolicy(harness, 'template-network-baseline')?.spec).toMatchObject({
      podSelector: { matchLabels: { [NETWORK]: 'own' } },
      policyTypes: ['Ingress', 'Egress'],
    });
    expect(getRules(findPolicy(harness, 'template-network-baseline'))).toEqual([[], []]);
    const before = harness.writes().length;
    await harness.elapse(60_000);
    expect(harness.writes().slice(before)).toEqual(['patch sandboxclaims']);
  });

  it('waits for the policy of its template', async () => {
    await using harness = await started({ policy: false });
    harness.claim('job', {}, { [NETWORK]: CLOSED });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ReconcilerError'));
    expect(harness.owned().get('job')).toBeUndefined();
    addTemplatePolicy(harness);
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['pool-m001']));
  });

  it('follows its template, and never allows more', async () => {
    await using harness = await started();
    harness.claim('job', {}, { [NETWORK]: '{"denyOut":["8.8.8.8"]}' });
    const blocks = (): unknown => findPolicy(harness)?.spec?.egress;
    const except = ['10.0.0.0/8', '8.8.8.8/32'];
    await harness.eventually(() => expect(blocks()).toEqual([{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except } }] }]));
    harness.api.change(networkPolicies, at('template-network-policy'), ({ spec }) => {
      if (spec !== undefined) spec.egress = [];
    });
    await harness.eventually(() => expect(blocks() ?? []).toEqual([]));
  });

  it('reaches nothing when its wish cannot be parsed', async () => {
    await using harness = await started();
    harness.claim('job', {}, { [NETWORK]: '{"denyOut":["all of it"]}' });
    await harness.eventually(() => expect(findPolicy(harness)?.spec?.policyTypes).toEqual(['Ingress', 'Egress']));
    expect(findPolicy(harness)?.spec?.egress ?? []).toEqual([]);
  });

  it('leaves a foreign policy of its name alone', async () => {
    await using harness = await started();
    harness.api.seed(networkPolicies, { metadata: at('job-network'), spec: { podSelector: {}, egress: [{}] } });
    await harness.elapse(20);
    harness.claim('job', {}, { [NETWORK]: CLOSED });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ReconcilerError'));
    expect(findPolicy(harness)?.spec?.egress).toEqual([{}]);
    expect(harness.owned().get('job')).toBeUndefined();
  });

  it('restores policies that another client changes or deletes', async () => {
    await using harness = await started();
    harness.claim('job', {}, { [NETWORK]: CLOSED });
    await harness.eventually(() => expect(findPolicy(harness)).toBeDefined());
    harness.api.change(networkPolicies, at('job-network'), ({ spec }) => {
      if (spec !== undefined) spec.egress = [{}];
    });
    await harness.eventually(() => expect(findPolicy(harness)?.spec?.egress ?? []).toEqual([]));
    harness.api.remove(networkPolicies, at('job-network'));
    await harness.eventually(() => expect(findPolicy(harness)).toBeDefined());
  });
});

describe('a change of the rules of a served claim', () => {
  async function served(): Promise<ClaimHarness> {
    const harness = await started();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(1_000);
    return harness;
  }

  it('never shows it unready, and is annotated once policies and Pod follow it', async () => {
    await using harness = await served();
    expect(harness.writes().filter((write) => write.includes('networkpolicies'))).toEqual([]);
    ask(harness, CLOSED);
    await harness.eventually(() => expect(getLabels(harness)).toEqual(['own', 'own']));
    expect(findPolicy(harness)?.spec?.egress ?? []).toEqual([]);
    await harness.elapse(1_000);
    expect(harness.getAnnotations('job')[APPLIED]).toBeUndefined();
    expect(harness.isReady('job')).toBe(true);
    followed(harness, 'pool-m001');
    await harness.eventually(() => expect(harness.getAnnotations('job')[APPLIED]).toBe(CLOSED));
    ask(harness, OPEN);
    await harness.eventually(() => expect(harness.getAnnotations('job')[APPLIED]).toBe(OPEN));
    expect(findPolicy(harness)?.spec?.egress).toEqual(EGRESS);
    expect(getLabels(harness)).toEqual(['own', 'own']);
    expect(harness.isReady('job')).toBe(true);
  });

  it('is annotated although that write meets a conflict', async () => {
    await using harness = await served();
    ask(harness, CLOSED);
    await harness.eventually(() => expect(getLabels(harness)).toEqual(['own', 'own']));
    const match = { verb: 'patch', resource: 'sandboxclaims', subresource: '' } as const;
    harness.api.faults.failNext({ match, answer: { status: 409 } });
    followed(harness, 'pool-m001');
    await harness.eventually(() => expect(harness.getAnnotations('job')[APPLIED]).toBe(CLOSED));
  });
});

import { annotations, findCondition, labels, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { networkPolicies, pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Platform } from '../../test/platform.ts';

const NAMESPACE = 'narrow';
const CLOSED = '{"allowInternetAccess":false,"allowOut":["1.1.1.1"],"denyOut":[]}';
const OPEN = '{"allowOut":[],"denyOut":[]}';
const key = { namespace: NAMESPACE, name: 'job' };

let platform: Platform;
beforeAll(async () => {
  platform = await Platform.start();
  await platform.startControllers({});
  await platform.fillPool(NAMESPACE, 1);
});
afterAll(() => platform[Symbol.asyncDispose]());

const isReady = ({ status }: SandboxClaim): boolean => findCondition(status?.conditions, 'Ready')?.status === 'True';
const claim = (): Promise<SandboxClaim> => platform.client.get(sandboxClaims, key);
const findSpec = async (name: string) =>
  (await platform.client.get(networkPolicies, { namespace: NAMESPACE, name })).spec;

const podLabels = async (): Promise<Readonly<Record<string, string>>> => {
  const { items } = await platform.client.listAll(pods, { namespace: NAMESPACE });
  const { uid = '' } = (await claim()).metadata;
  return items.find(({ metadata }) => metadata.labels?.[labels.claimUid] === uid)?.metadata.labels ?? {};
};

describe('a claim with egress rules of its own', () => {
  it('becomes Ready when the rules apply to its Pod, and writes them once', async () => {
    const metadata = { ...key, annotations: { [annotations.network]: CLOSED, [annotations.networkApplied]: CLOSED } };
    await platform.client.create(sandboxClaims, { metadata, spec: { warmPoolRef: { name: 'pool' } } });
    await platform.until(async () => isReady(await claim()));
    expect((await podLabels())[labels.network]).toBe('own');
    const template = await findSpec('template-network-policy');
    expect(await findSpec('job-network')).toEqual({
      podSelector: { matchLabels: { [labels.claimUid]: (await claim()).metadata.uid } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: template?.ingress,
      egress: [{ to: [{ ipBlock: { cidr: '1.1.1.1/32' } }] }],
    });
    const writes = await platform.readWrites('claim-controller', NAMESPACE);
    // The annotations of the claim are sent beside its commit, and may arrive first.
    const others = writes.filter((write) => write !== 'patch sandboxclaims');
    expect(others.slice(0, 3)).toEqual(['create networkpolicies', 'create networkpolicies', 'patch sandboxes']);
    expect(writes.filter((write) => write.includes('networkpolicies'))).toHaveLength(2);
  });

  it('gets an annotation when a change of its rules is in force', async () => {
    const patch = { metadata: { annotations: { [annotations.network]: OPEN } } };
    await platform.client.mergePatch(sandboxClaims, key, patch);
    await platform.until(async () => (await claim()).metadata.annotations?.[annotations.networkApplied] === OPEN);
    expect((await findSpec('job-network'))?.egress).toEqual((await findSpec('template-network-policy'))?.egress);
    expect(isReady(await claim())).toBe(true);
    const writes = await platform.readWrites('claim-controller', NAMESPACE);
    expect(writes.filter((write) => write === 'patch networkpolicies')).toHaveLength(1);
  });
});

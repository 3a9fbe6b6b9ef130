import { findCondition, nameHash, sandboxTemplates } from '@sandlot/api-types';
import { networkPolicies, pods } from '@sandlot/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimManifest, GROUP, formatPoolManifest, formatTemplateManifest } from '../support/manifests.ts';
import { waitForFullPool, waitForReadyClaim, getSandboxName } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const hardened = `
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: hard}
spec:
  securityDefaults: Hardened
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 0
      securityContext: {runAsUser: 1000}
      containers: [{name: box, image: busybox, command: [sleep, infinity]}]
`;

let team: Team;
beforeAll(async () => {
  team = await createTeam('templates');
  await team.apply(`${formatTemplateManifest('box')}---${formatPoolManifest('pool', 'box', 1)}`);
  await waitForFullPool(team, 'pool');
});
afterAll(() => team[Symbol.asyncDispose]());

const POLICY = 'box-network-policy';
const policy = () => team.client.get(networkPolicies, { namespace: team.namespace, name: POLICY });

async function readPodOfClaim(name: string, spec: string) {
  await team.apply(claimManifest(name, spec));
  return team.client.get(pods, {
    namespace: team.namespace,
    name: getSandboxName(await waitForReadyClaim(team, name)),
  });
}

it('the status of a template shows its hashes, its network policy and its pools', async () => {
  const { status, metadata } = await eventually('the template counts its pool', async () => {
    const found = await team.client.get(sandboxTemplates, { namespace: team.namespace, name: 'box' });
    return found.status?.warmPools?.[0]?.readyReplicas === 1 ? found : undefined;
  });
  expect(status).toMatchObject({
    blueprintHash: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
    templateRefHash: nameHash('box'),
    networkPolicyName: POLICY,
    warmPools: [{ name: 'pool', replicas: 1, readyReplicas: 1 }],
    warmPoolCount: 1,
  });
  expect(metadata.labels?.['agents.x-k8s.io/sandbox-template-ref-hash']).toBe(nameHash('box'));
  expect(findCondition(status?.conditions, 'Accepted')?.reason).toBe('Accepted');
  expect(findCondition(status?.conditions, 'NetworkPolicyReady')?.reason).toBe('Applied');
});

it('the network policy of a template selects its pods, is restored after edits and deletion, and follows custom rules', async () => {
  const { spec, metadata } = await policy();
  const selector = { 'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('box') };
  const narrower = { key: 'sandlot.dev/network', operator: 'DoesNotExist' };
  expect(spec?.podSelector).toEqual({ matchLabels: selector, matchExpressions: [narrower] });
  expect(spec?.policyTypes).toEqual(['Ingress', 'Egress']);
  const blocks = JSON.stringify(spec?.egress);
  for (const cidr of ['169.254.0.0/16', '100.64.0.0/10', '::/8', 'fc00::/7']) expect(blocks).toContain(cidr);
  await team.kubectl('patch', 'netpol', POLICY, '--type=merge', '-p', '{"spec":{"egress":[{}]}}');
  await eventually('it is restored', async () =>
    JSON.stringify((await policy()).spec?.egress) === blocks ? true : undefined,
  );
  await team.kubectl('delete', 'netpol', POLICY);
  await eventually('it is created again', async () =>
    (await policy()).metadata.uid === metadata.uid ? undefined : true,
  );
  await team.kubectl(
    'patch',
    'sbt',
    'box',
    '--type=merge',
    '-p',
    '{"spec":{"networkPolicy":{"ingress":[],"egress":[]}}}',
  );
  await eventually('nothing passes', async () =>
    ((await policy()).spec?.egress ?? []).length === 0 ? true : undefined,
  );
});

it('a pod has the labels of its own template, whatever the template says', async () => {
  const forged = `agents.x-k8s.io/sandbox-template-ref-hash: ${nameHash('box')}, sandlot.dev/network: own, team: a`;
  const manifest = formatTemplateManifest('forger').replace(
    'podTemplate:\n',
    `podTemplate:\n    metadata: {labels: {${forged}}}\n`,
  );
  await team.apply(manifest);
  const { metadata } = await readPodOfClaim('forged', '{sandboxTemplateRef: {name: forger}}');
  expect(metadata.labels).toMatchObject({
    team: 'a',
    'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('forger'),
  });
  expect(metadata.labels).not.toHaveProperty(['sandlot.dev/network']);
});

it('the network policy of a template goes when the template manages none, and its Pods start without', async () => {
  await team.apply(formatTemplateManifest('open'));
  const find = () => team.client.find(networkPolicies, { namespace: team.namespace, name: 'open-network-policy' });
  await eventually('the policy is there', find);
  await team.kubectl('patch', 'sbt', 'open', '--type=merge', '-p', '{"spec":{"networkPolicyManagement":"Unmanaged"}}');
  await eventually('the policy is gone', async () => ((await find()) === undefined ? true : undefined));
  await readPodOfClaim('unruled', '{sandboxTemplateRef: {name: open}}');
});

it('a pod of a template has the defaults of agent-sandbox and no raw packets, or the hardened ones on request', async () => {
  const plain = await readPodOfClaim('plain', '{warmPoolRef: {name: pool}}');
  expect(plain.spec).toMatchObject({ automountServiceAccountToken: false });
  expect(plain.spec.containers[0]?.securityContext).toEqual({ capabilities: { drop: ['NET_RAW'] } });
  await team.apply(hardened);
  const { spec } = await readPodOfClaim('hard', '{sandboxTemplateRef: {name: hard}}');
  expect(spec).toMatchObject({
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    dnsPolicy: 'None',
    securityContext: { runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  });
  expect(spec.containers[0]?.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
  });
});

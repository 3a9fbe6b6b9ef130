import { AUTHORED_POLICY_NAME, findCondition, nameHash, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplateSpec, SandboxTemplateStatus } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import { buildBlueprint, POD_DEFAULTS } from '@sandlot/blueprint';
import { createKubeClient, isNotFound, loadCredentials, namespaces, networkPolicies } from '@sandlot/kube';
import type { KubeClient, NetworkPolicy } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BINDING, CRDS, ROLE, USER } from '../../test/control-plane.ts';
import { hasSameSpec } from './network/difference.ts';
import { buildRules, buildTemplatePolicy } from './network/policy.ts';
import { NETWORK } from '../../test/template-harness.ts';

const TEAM = 'team-a';
const BLOCKED = ['34.118.224.0/20', '2600:1900::/28'];
const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };

let plane: ControlPlane;
let client: KubeClient;
let controller: ServiceProcess;

beforeAll(async () => {
  plane = await startControlPlane({ crds: [CRDS], controllerManager: true });
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  for (const object of [ROLE, BINDING]) await plane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  for (const name of [TEAM, NETWORK.releaseNamespace]) await client.create(namespaces, { metadata: { name } });
  controller = await startServiceProcess(new URL('../main.ts', import.meta.url), {
    KUBECONFIG: await plane.kubeconfigFor(USER),
    POD_NAMESPACE: NETWORK.releaseNamespace,
    NETWORK_EXTRA_BLOCKED_CIDRS: BLOCKED.join(','),
    NETWORK_PROTECT_AUTHORED_SANDBOXES: 'true',
  });
});
afterAll(async () => {
  await controller.kill();
  await client.close();
  await plane.stop();
});

const buildKey = (name: string) => ({ namespace: TEAM, name });

function apply(name: string, spec: Partial<SandboxTemplateSpec>): Promise<unknown> {
  const manifest = {
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxTemplate',
    metadata: buildKey(name),
    spec: { podTemplate, ...spec },
  };
  return plane.kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
}

async function findPolicy(name: string): Promise<NetworkPolicy | undefined> {
  try {
    return await client.get(networkPolicies, buildKey(name));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return undefined;
  }
}

/** Polls ten times a second, for at most a minute. */
async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const seen = await look();
    if (holds(seen)) return seen;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the condition did not hold within a minute');
}

function readStatus(name: string, generation: number): Promise<SandboxTemplateStatus> {
  const look = async (): Promise<SandboxTemplateStatus> =>
    (await client.get(sandboxTemplates, buildKey(name))).status ?? {};
  return until(look, ({ observedGeneration }) => observedGeneration === generation);
}

const findReason = ({ conditions }: SandboxTemplateStatus, type: string): string | undefined =>
  findCondition(conditions, type)?.reason;

it('a template gets the default policy, and a strict API server accepts all of its blocks', async () => {
  await apply('plain', {});
  const status = await readStatus('plain', 1);
  expect([findReason(status, 'Accepted'), findReason(status, 'NetworkPolicyReady')]).toEqual(['Accepted', 'Applied']);
  const template = await client.get(sandboxTemplates, buildKey('plain'));
  expect(template.metadata.labels).toEqual({ 'agents.x-k8s.io/sandbox-template-ref-hash': status.templateRefHash });
  const wanted = buildTemplatePolicy(template, buildRules(template, { ...NETWORK, extraBlockedCIDRs: BLOCKED }));
  const policy = await findPolicy('plain-network-policy');
  expect(policy?.spec).toEqual(wanted.spec);
  expect(policy?.metadata).toMatchObject({ labels: wanted.metadata.labels, annotations: wanted.metadata.annotations });
  expect(policy?.metadata.ownerReferences).toBeUndefined();

  const mapped = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: buildKey('mapped'),
    spec: { podSelector: {}, egress: [{ to: [{ ipBlock: { cidr: '::/0', except: ['::ffff:0:0/96'] } }] }] },
  };
  const { code } = await plane.kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(mapped));
  expect(code).not.toBe(0);
});

it('a policy is restored after its deletion or a change by hand', async () => {
  await apply('plain', {});
  const { spec } = (await findPolicy('plain-network-policy')) ?? {};
  await client.delete(networkPolicies, buildKey('plain-network-policy'));
  await until(
    () => findPolicy('plain-network-policy'),
    (policy) => policy !== undefined,
  );
  const open = { spec: { podSelector: { matchLabels: { more: '' } }, egress: null, ingress: [{}] } };
  await client.mergePatch(networkPolicies, buildKey('plain-network-policy'), open);
  const repaired = await until(
    () => findPolicy('plain-network-policy'),
    (policy) => hasSameSpec(policy?.spec ?? {}, { podSelector: {}, ...spec }),
  );
  expect(repaired?.spec).toEqual(spec);
});

it('rules are applied as given, and defaults of the API server do not count as a change', async () => {
  const rules = {
    ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 8080 }] }],
    egress: [
      {
        to: [{ ipBlock: { cidr: '10.1.0.0/16', except: ['10.1.2.0/24'] } }],
        ports: [{ port: 53, protocol: 'UDP' }, { port: 443 }],
      },
    ],
  };
  await apply('custom', { networkPolicy: rules });
  await readStatus('custom', 1);
  await apply('custom', { networkPolicy: rules, service: true });
  await readStatus('custom', 2);
  const policy = await findPolicy('custom-network-policy');
  expect(policy?.metadata.generation).toBe(1);
  expect(policy?.spec?.ingress).toEqual([{ from: [{ podSelector: {} }], ports: [{ port: 8080, protocol: 'TCP' }] }]);
  await apply('custom', { networkPolicy: {}, service: true });
  await readStatus('custom', 3);
  expect((await findPolicy('custom-network-policy'))?.spec).toEqual({
    podSelector: policy?.spec?.podSelector,
    policyTypes: ['Ingress', 'Egress'],
  });
});

it('refused rules are reported, and nothing passes until they are corrected', async () => {
  const wrong = { egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/33' } }] }] };
  await apply('wrong', { networkPolicy: wrong });
  const status = await readStatus('wrong', 1);
  expect(findReason(status, 'Accepted')).toBe('InvalidNetworkPolicy');
  expect(findCondition(status.conditions, 'Accepted')?.message).toContain('10.0.0.0/33');
  expect((await findPolicy('wrong-network-policy'))?.spec?.egress).toBeUndefined();
  await apply('wrong', { networkPolicy: { egress: [{}] } });
  expect(findReason(await readStatus('wrong', 2), 'Accepted')).toBe('Accepted');
  expect((await findPolicy('wrong-network-policy'))?.spec?.egress).toEqual([{}]);
});

it('a template that becomes Unmanaged loses its policy', async () => {
  await apply('custom', { networkPolicyManagement: 'Unmanaged' });
  const { metadata } = await client.get(sandboxTemplates, buildKey('custom'));
  const status = await readStatus('custom', metadata.generation ?? 0);
  expect(findReason(status, 'NetworkPolicyReady')).toBe('Unmanaged');
  expect(await findPolicy('custom-network-policy')).toBeUndefined();
});

const CASCADES = ['background', 'foreground', 'orphan'] as const;

it('the policy of a deleted template stays while a Sandbox of it exists, and goes with the last', async () => {
  const isThere = (policy: NetworkPolicy | undefined): boolean => policy !== undefined;
  for (const name of CASCADES) {
    await apply(name, {});
    await readStatus(name, 1);
    const metadata = {
      ...buildKey(`${name}-box`),
      labels: { 'agents.x-k8s.io/sandbox-template-ref-hash': nameHash(name) },
      annotations: { 'agents.x-k8s.io/sandbox-template-ref': name },
    };
    await client.create(sandboxes, { metadata, spec: { podTemplate } });
    await createDependent(name);
  }
  const listUids = () =>
    Promise.all(CASCADES.map(async (name) => (await findPolicy(`${name}-network-policy`))?.metadata.uid));
  const before = await listUids();
  expect(before).not.toContain(undefined);
  for (const name of CASCADES) {
    await plane.kubectl(['delete', 'sandboxtemplate', name, '-n', TEAM, `--cascade=${name}`]);
  }
  await untilCollected();
  // The same ones: a policy that the controller restores is missing for a moment.
  expect(await listUids()).toEqual(before);
  await client.delete(networkPolicies, buildKey('background-network-policy'));
  await until(() => findPolicy('background-network-policy'), isThere);
  for (const name of CASCADES) await client.delete(sandboxes, buildKey(`${name}-box`));
  for (const name of CASCADES) {
    await until(
      () => findPolicy(`${name}-network-policy`),
      (policy) => !isThere(policy),
    );
  }
});

/** An object that garbage collection deletes with the template, unless the template leaves orphans. */
async function createDependent(template: string): Promise<void> {
  const { metadata } = await client.get(sandboxTemplates, buildKey(template));
  const { name = '', uid = '' } = metadata;
  const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name, uid };
  const dependent = { ...buildKey(`${template}-dependent`), ownerReferences: [owner] };
  await client.create(networkPolicies, { metadata: dependent, spec: { podSelector: {} } });
}

/** Garbage collection has followed the deletions. */
async function untilCollected(): Promise<void> {
  for (const name of ['background', 'foreground']) {
    await until(
      () => findPolicy(`${name}-dependent`),
      (found) => found === undefined,
    );
  }
}

it('directly authored Sandboxes have a policy while one of them exists', async () => {
  await client.create(sandboxes, { metadata: buildKey('notebook'), spec: { podTemplate } });
  const policy = await until(
    () => findPolicy(AUTHORED_POLICY_NAME),
    (found) => found !== undefined,
  );
  expect(policy?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['notebook']);
  expect(policy?.spec?.podSelector?.matchExpressions).toHaveLength(2);
  await client.delete(sandboxes, buildKey('notebook'));
  await until(
    () => findPolicy(AUTHORED_POLICY_NAME),
    (found) => found === undefined,
  );
});

const LIMITS = { requests: { memory: '64Mi' }, limits: { memory: '256Mi' } };

it.each([
  ['nothing', {}],
  ['a capability', { securityContext: { capabilities: { add: ['NET_ADMIN'] } } }],
  ['all capabilities', { securityContext: { capabilities: { add: ['ALL'] } } }],
  ['CAP_SYS_ADMIN', { securityContext: { capabilities: { add: ['CAP_SYS_ADMIN'] } } }],
  ['less memory than the default request', { resources: { limits: { memory: '32Mi' } } }],
  ['more memory than the default limit', { resources: { requests: { memory: '1Gi' } } }],
])('the API server accepts a hardened Pod that sets %s', async (_, stated) => {
  const containers = [{ name: 'main', image: 'busybox', ...stated }];
  const hardened = { ...POD_DEFAULTS, securityDefaults: 'Hardened', resources: LIMITS } as const;
  const { spec } = buildBlueprint(template({ spec: { podTemplate: { spec: { containers } } } }), hardened).podTemplate;
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: buildKey('hardened'), spec };
  const dryRun = () => plane.kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(pod));
  // The control plane creates the namespace's service account asynchronously.
  const { stderr } = await until(dryRun, (result) => !result.stderr.includes('serviceaccount "default" not found'));
  expect(stderr).toBe('');
});

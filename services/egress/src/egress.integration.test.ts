import {
  annotations,
  formatNetworkPolicyName,
  formatTemplateEgress,
  labels,
  nameHash,
  sandboxClaims,
  sandboxes,
} from '@sandlot/api-types';
import { createKubeClient, leases, loadCredentials, namespaces, networkPolicies, pods, services } from '@sandlot/kube';
import type { KubeClient, OwnerReference } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findPort, startDataPlane } from '../test/data-plane.ts';
import type { DataPlane } from '../test/data-plane.ts';

const CRDS = new URL('../../../charts/sandlot/files/crds', import.meta.url).pathname;
const PATIENCE = { timeout: 60_000, interval: 50 };
const namespace = 'team';
const SYSTEM = 'sandlot-system';
const SERVICES = { passed: 'sandlot-egress', inspected: 'sandlot-egress-inspect' };
const POD = 'one';
const POD_SPEC = { containers: [{ name: 'main', image: 'busybox' }] };
const LISTED = 'api.example.com';
const OTHER = 'other.example.com';
const closed = (...allowOut: readonly string[]): string => JSON.stringify({ denyOut: ['0.0.0.0/0'], allowOut });

const open = new AsyncDisposableStack();
let client: KubeClient;
let plane: DataPlane;
let rules: ServiceProcess;
/** The address of the Service for names without a rule. */
let proxy: string;
/** Where the rules process says what was refused. */
let port: number;
/** UID of the Pod that the rules process takes for its own. */
let podUid: string;
let startRules: () => Promise<ServiceProcess>;

beforeAll(async () => {
  const cluster = open.use(await startControlPlane({ crds: [CRDS] }));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: cluster.kubeconfigPath }) });
  open.defer(() => client.close());
  for (const name of [namespace, SYSTEM]) await client.create(namespaces, { metadata: { name } });
  proxy = await createService(SERVICES.passed);
  await createService(SERVICES.inspected);
  const { uid = '' } = (await client.create(pods, { metadata: { namespace: SYSTEM, name: POD }, spec: POD_SPEC }))
    .metadata;
  podUid = uid;
  plane = open.use(await startDataPlane());
  port = await findPort();
  const env = {
    KUBECONFIG: cluster.kubeconfigPath,
    POD_NAMESPACE: SYSTEM,
    POD_NAME: POD,
    POD_UID: podUid,
    EGRESS_SOCKET: plane.socket,
    PORT: String(port),
    EGRESS_SERVICE: SERVICES.passed,
    EGRESS_INSPECT_SERVICE: SERVICES.inspected,
  };
  startRules = () => startServiceProcess(new URL('main.ts', import.meta.url), env);
  rules = await startRules();
  open.defer(async () => {
    await rules.stop();
  });
  await createPolicy('base', formatTemplateEgress({ mode: 'OnDemand' }));
  await vi.waitFor(async () => expect(await plane.isReady()).toBe(true), PATIENCE);
});
afterAll(() => open.disposeAsync());

async function createService(name: string): Promise<string> {
  const { spec } = await client.create(services, {
    metadata: { namespace: SYSTEM, name },
    spec: { ports: [{ name: 'dns', protocol: 'UDP', port: 53 }] },
  });
  return spec?.clusterIP ?? '';
}

/** The NetworkPolicy of a template, as the warmpool-controller writes it. */
async function createPolicy(template: string, egress?: string): Promise<void> {
  const marks = egress === undefined ? {} : { [annotations.egress]: egress };
  await client.create(networkPolicies, {
    metadata: { namespace, name: formatNetworkPolicyName(template), annotations: marks },
    spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }] },
  });
}

const setEgress = (template: string, egress: string | null) =>
  client.mergePatch(
    networkPolicies,
    { namespace, name: formatNetworkPolicyName(template) },
    { metadata: { annotations: { [annotations.egress]: egress } } },
  );

const KINDS = { SandboxClaim: 'extensions.agents.x-k8s.io/v1beta1', Sandbox: 'agents.x-k8s.io/v1beta1' };

const ownedBy = (kind: keyof typeof KINDS, name: string, uid = ''): OwnerReference => ({
  apiVersion: KINDS[kind],
  kind,
  name,
  uid,
  controller: true,
});

/** A claim with a Sandbox and a Pod that runs at the address. */
async function claim(
  name: string,
  address: string,
  { network, template = 'base' }: { readonly network?: string; readonly template?: string } = {},
): Promise<void> {
  const marks = network === undefined ? {} : { [annotations.network]: network };
  const made = await client.create(sandboxClaims, {
    metadata: { namespace, name, annotations: marks },
    spec: { sandboxTemplateRef: { name: template } },
  });
  const sandbox = await client.create(sandboxes, {
    metadata: {
      namespace,
      name,
      annotations: { [annotations.templateRef]: template },
      ownerReferences: [ownedBy('SandboxClaim', name, made.metadata.uid)],
    },
    spec: { podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }] } } },
  });
  await createPod(name, name, { uid: sandbox.metadata.uid });
  await start(name, address);
}

async function createPod(
  name: string,
  sandbox: string,
  { uid, inNamespace = namespace }: { readonly uid: string | undefined; readonly inNamespace?: string },
): Promise<void> {
  await client.create(pods, {
    metadata: {
      namespace: inNamespace,
      name,
      labels: { [labels.nameHash]: nameHash(sandbox) },
      ownerReferences: [ownedBy('Sandbox', sandbox, uid)],
    },
    spec: POD_SPEC,
  });
}

async function start(name: string, address: string, inNamespace = namespace): Promise<void> {
  const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }] };
  await client.mergePatch(pods, { namespace: inNamespace, name }, { status }, { subresource: 'status' });
}

async function expectAnswers(address: string, answers: Readonly<Record<string, string>>): Promise<void> {
  await vi.waitFor(async () => {
    const asked = Object.keys(answers).map(async (name) => [name, await plane.ask(address, name)] as const);
    expect(Object.fromEntries(await Promise.all(asked))).toEqual(answers);
  }, PATIENCE);
}

const setNetwork = (name: string, network: string) =>
  client.mergePatch(
    sandboxClaims,
    { namespace, name },
    { metadata: { annotations: { [annotations.network]: network } } },
  );

describe('a sandbox whose claim names the hosts that it may reach', () => {
  it('hears of them alone, and of a change of the claim', async () => {
    await claim('listed', '127.0.52.1', { network: closed(LISTED) });
    await expectAnswers('127.0.52.1', { [LISTED]: proxy, [OTHER]: 'ENOTFOUND' });
    await setNetwork('listed', closed(OTHER));
    await expectAnswers('127.0.52.1', { [LISTED]: 'ENOTFOUND', [OTHER]: proxy });
  });

  it('hears of nothing when the annotation cannot be read, and when the claim is gone', async () => {
    await claim('unread', '127.0.52.2', { network: closed(LISTED) });
    await expectAnswers('127.0.52.2', { [LISTED]: proxy });
    await setNetwork('unread', '{');
    await expectAnswers('127.0.52.2', { [LISTED]: 'ENOTFOUND' });
    await setNetwork('unread', closed(LISTED));
    await expectAnswers('127.0.52.2', { [LISTED]: proxy });
    await client.delete(sandboxClaims, { namespace, name: 'unread' });
    await expectAnswers('127.0.52.2', { [LISTED]: 'ENOTFOUND' });
  });

  it('a sandbox without a wish has its questions forwarded', async () => {
    await claim('plain', '127.0.52.3');
    await expectAnswers('127.0.52.3', { [LISTED]: 'ESERVFAIL' });
  });

  it('an address that no Pod has, or two, is refused', async () => {
    expect(await plane.ask('127.0.52.99', LISTED)).toBe('EREFUSED');
    await claim('first', '127.0.52.4', { network: closed(LISTED) });
    await expectAnswers('127.0.52.4', { [LISTED]: proxy });
    await claim('second', '127.0.52.4', { network: closed(LISTED) });
    await expectAnswers('127.0.52.4', { [LISTED]: 'EREFUSED' });
    await client.delete(pods, { namespace, name: 'first' }, { gracePeriodSeconds: 0 });
    await expectAnswers('127.0.52.4', { [LISTED]: proxy });
  });

  it('a Pod that has ended loses everything', async () => {
    await claim('ended', '127.0.52.5', { network: closed(LISTED) });
    await expectAnswers('127.0.52.5', { [LISTED]: proxy });
    await client.mergePatch(
      pods,
      { namespace, name: 'ended' },
      { status: { phase: 'Failed' } },
      { subresource: 'status' },
    );
    await expectAnswers('127.0.52.5', { [LISTED]: 'EREFUSED' });
  });

  it('a Pod whose Sandbox does not exist is none', async () => {
    await createPod('forged', 'listed', { uid: '00000000-0000-0000-0000-000000000000' });
    await start('forged', '127.0.52.6');
    await claim('after', '127.0.52.7', { network: closed(LISTED) });
    await expectAnswers('127.0.52.7', { [LISTED]: proxy });
    expect(await plane.ask('127.0.52.6', LISTED)).toBe('EREFUSED');
  });
});

describe('a Pod of another namespace that names the Sandbox as its owner', () => {
  it('has nothing of its list', async () => {
    await claim('coveted', '127.0.52.26', { network: closed(LISTED) });
    await expectAnswers('127.0.52.26', { [LISTED]: proxy });
    const { uid } = (await client.get(sandboxes, { namespace, name: 'coveted' })).metadata;
    await createPod('thief', 'coveted', { uid, inNamespace: SYSTEM });
    await start('thief', '127.0.52.27', SYSTEM);
    await claim('later', '127.0.52.28', { network: closed(LISTED) });
    await expectAnswers('127.0.52.28', { [LISTED]: proxy });
    expect(await plane.ask('127.0.52.27', LISTED)).toBe('EREFUSED');
  });
});

describe('a sandbox of a template', () => {
  const names = formatTemplateEgress({
    mode: 'Proxied',
    names: ['*.example.com'],
    within: [{ cidr: '0.0.0.0/0', except: [], ports: [] }],
  });

  it('that is Proxied hears of the names of the template, and of those alone that its claim keeps of them', async () => {
    const template = 'proxied';
    await createPolicy(template, names);
    await claim('all', '127.0.52.11', { template });
    await claim('some', '127.0.52.12', { template, network: closed(LISTED, 'example.net') });
    await expectAnswers('127.0.52.11', { [LISTED]: proxy, [OTHER]: proxy, 'example.net': 'ENOTFOUND' });
    await expectAnswers('127.0.52.12', { [LISTED]: proxy, [OTHER]: 'ENOTFOUND', 'example.net': 'ENOTFOUND' });
    await setEgress(template, '{');
    await expectAnswers('127.0.52.11', { [LISTED]: 'ENOTFOUND' });
    await expectAnswers('127.0.52.12', { [LISTED]: 'ENOTFOUND' });
  });

  it('that is Direct hears of no name of its claim, until the template has the proxy', async () => {
    await createPolicy('direct');
    await claim('direct', '127.0.52.13', { template: 'direct', network: closed(LISTED) });
    await expectAnswers('127.0.52.13', { [LISTED]: 'ENOTFOUND' });
    await setEgress('direct', formatTemplateEgress({ mode: 'OnDemand' }));
    await expectAnswers('127.0.52.13', { [LISTED]: proxy });
  });

  it('whose policy is not there hears of nothing', async () => {
    await claim('unseen', '127.0.52.14', { template: 'later' });
    await expectAnswers('127.0.52.14', { [LISTED]: 'ENOTFOUND' });
    await createPolicy('later', names);
    await expectAnswers('127.0.52.14', { [LISTED]: proxy });
  });
});

describe('what a sandbox was refused', () => {
  const read = async (path: string): Promise<readonly [number, unknown]> => {
    const answer = await fetch(`http://127.0.0.1:${port}/refusals/${path}`);
    return [answer.status, await answer.json()];
  };

  it('is counted for its claim, until that is gone', async () => {
    await claim('refused', '127.0.52.15', { network: closed(LISTED) });
    await expectAnswers('127.0.52.15', { [LISTED]: proxy });
    const { uid = '' } = (await client.get(sandboxClaims, { namespace, name: 'refused' })).metadata;
    await plane.ask('127.0.52.15', OTHER);
    const counted = { protocol: 'dns', host: OTHER, reason: 'not_listed', count: expect.any(Number) as number };
    await vi.waitFor(async () => {
      const [status, body] = await read(`${namespace}/${uid}`);
      expect(status).toBe(200);
      expect(body).toEqual({ refusals: expect.arrayContaining([expect.objectContaining(counted)]) as unknown });
    }, PATIENCE);
    expect(await read(`other/${uid}`)).toEqual([404, { error: 'there is no such claim' }]);
    await client.delete(sandboxClaims, { namespace, name: 'refused' });
    await vi.waitFor(async () => expect((await read(`${namespace}/${uid}`))[0]).toBe(404), PATIENCE);
  });

  it('is only read', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/refusals/${namespace}/x`, { method: 'DELETE' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET']);
  });
});

it('the Lease of a replica goes with its Pod', async () => {
  const { metadata } = await client.get(leases, { namespace: SYSTEM, name: `egress-${POD}` });
  expect(metadata.ownerReferences).toEqual([{ apiVersion: 'v1', kind: 'Pod', name: POD, uid: podUid }]);
});

describe('the metrics', () => {
  it('of the data plane say the namespace and the template of a sandbox', async () => {
    await claim('measured', '127.0.52.16', { network: closed(LISTED) });
    await expectAnswers('127.0.52.16', { [LISTED]: proxy, [OTHER]: 'ENOTFOUND' });
    expect(await plane.fetchMetrics()).toMatch(
      /^sandlot_egress_connections_total\{decision="refused",namespace="team",protocol="dns",reason="not_listed",template="base"\} [1-9]/m,
    );
  });

  it('of the rules process say that the data plane is connected and has confirmed everything', async () => {
    await vi.waitFor(async () => {
      const page = await (await fetch(`http://127.0.0.1:${rules.metricsPort}/metrics`)).text();
      expect(page).toContain('sandlot_egress_plane_connected 1\n');
      expect(page).toContain('sandlot_egress_plane_unconfirmed 0\n');
    }, PATIENCE);
  });
});

describe('when a Service of the proxy', () => {
  it('is gone the list holds and the replica is not ready, until it is back, at another address', async () => {
    await claim('moved', '127.0.52.10', { network: closed(LISTED) });
    await expectAnswers('127.0.52.10', { [LISTED]: proxy });
    await client.delete(services, { namespace: SYSTEM, name: SERVICES.passed });
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(false), PATIENCE);
    expect(await plane.ask('127.0.52.10', LISTED)).toBe(proxy);
    proxy = await createService(SERVICES.passed);
    await expectAnswers('127.0.52.10', { [LISTED]: proxy, [OTHER]: 'ENOTFOUND' });
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(true), PATIENCE);
  });
});

describe('when a process is killed', () => {
  it('a new data plane gets everything', async () => {
    await claim('kept', '127.0.52.8', { network: closed(LISTED) });
    await expectAnswers('127.0.52.8', { [LISTED]: proxy });
    await plane.restart();
    await expectAnswers('127.0.52.8', { [LISTED]: proxy, [OTHER]: 'ENOTFOUND' });
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(true), PATIENCE);
  });

  it('without the rules process the list holds and the replica is not ready, until it is back with what changed meanwhile', async () => {
    await claim('orphan', '127.0.52.9', { network: closed(LISTED) });
    await expectAnswers('127.0.52.9', { [LISTED]: proxy });
    await rules.kill();
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(false), PATIENCE);
    expect(await plane.ask('127.0.52.9', LISTED)).toBe(proxy);
    await setNetwork('orphan', closed(OTHER));
    rules = await startRules();
    await expectAnswers('127.0.52.9', { [LISTED]: 'ENOTFOUND', [OTHER]: proxy });
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(true), PATIENCE);
  });
});

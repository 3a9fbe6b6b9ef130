import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { chartFolder, helm, release } from './chart.ts';

const ELSEWHERE = 'elsewhere';
const NOT_OWNED = /exists and cannot be imported into the current release: invalid ownership metadata/;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({});
  for (const name of [release.namespace, ELSEWHERE]) await kubectl('create', 'namespace', name);
});
afterAll(() => plane.stop());

async function kubectl(...args: readonly string[]): Promise<string> {
  const { stdout, stderr, code } = await plane.kubectl(args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

async function runHelm(namespace: string, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await helm([...args, '-n', namespace], { KUBECONFIG: plane.kubeconfigPath });
  if (code !== 0) throw new Error(stderr);
}

const install = (namespace: string, ...flags: readonly string[]): Promise<void> =>
  runHelm(namespace, 'install', release.name, chartFolder, '--set', 'policies.mode=off', ...flags);

async function createSandbox(): Promise<void> {
  const sandbox = {
    apiVersion: 'agents.x-k8s.io/v1beta1',
    kind: 'Sandbox',
    metadata: { name: 'kept', namespace: 'default' },
    spec: { podTemplate: { spec: { containers: [{ name: 'box', image: 'busybox' }] } } },
  };
  const { stderr, code } = await plane.kubectl(['create', '-f', '-'], JSON.stringify(sandbox));
  if (code !== 0) throw new Error(stderr);
}

const readUid = (): Promise<string> => kubectl('get', 'sandbox', 'kept', '-n', 'default', '-o', 'jsonpath={.metadata.uid}');

const SHARED = [
  'sandboxes.agents.x-k8s.io',
  ...['sandboxclaims', 'sandboxtemplates', 'sandboxwarmpools'].map((plural) => `${plural}.extensions.agents.x-k8s.io`),
];

/** Gives the CRDs the webhook that those of agent-sandbox 0.5 have. Its controller does not run. */
async function addWebhooks(): Promise<void> {
  const service = { name: 'agent-sandbox-webhook-service', namespace: 'agent-sandbox-system', path: '/convert' };
  const webhook = { clientConfig: { service }, conversionReviewVersions: ['v1', 'v1beta1'] };
  const patch = JSON.stringify({ spec: { conversion: { strategy: 'Webhook', webhook } } });
  for (const name of SHARED) await kubectl('patch', 'crd', name, '--type=merge', '-p', patch);
}

/** Of each CRD that agent-sandbox has as well. */
const readConversions = (): Promise<readonly string[]> =>
  Promise.all(SHARED.map((name) => kubectl('get', 'crd', name, '-o', 'jsonpath={.spec.conversion}')));

const NO_WEBHOOKS = SHARED.map(() => '{"strategy":"None"}');

it('CRDs that no release of Helm owns, or another one, can be taken over with --take-ownership, and keep their objects', async () => {
  await kubectl('create', '-f', join(chartFolder, 'files/crds'));
  // `kubectl wait` fails at once on a CRD that has no conditions yet.
  await vi.waitFor(
    () => kubectl('wait', '--for=condition=Established', '--timeout=20s', 'crd/sandboxes.agents.x-k8s.io'),
    { timeout: 60_000, interval: 200 },
  );
  await createSandbox();
  const uid = await readUid();

  await addWebhooks();
  await expect(install(release.namespace)).rejects.toThrow(NOT_OWNED);
  await install(release.namespace, '--take-ownership');
  expect(await readConversions()).toEqual(NO_WEBHOOKS);
  expect(await readUid()).toBe(uid);

  await runHelm(release.namespace, 'uninstall', release.name);
  expect(await readUid()).toBe(uid);

  await expect(install(ELSEWHERE)).rejects.toThrow(NOT_OWNED);
  await install(ELSEWHERE, '--take-ownership');
  expect(await readUid()).toBe(uid);
  await runHelm(ELSEWHERE, 'upgrade', release.name, chartFolder, '--set', 'policies.mode=off');
});

it('the CRDs replace those of agent-sandbox by kubectl, too, and take their webhook away', async () => {
  await addWebhooks();
  const folder = join(chartFolder, 'files/crds');
  const files = (await readdir(folder)).filter((name) => name.includes('agents.x-k8s.io'));
  expect(files).toHaveLength(SHARED.length);
  for (const file of files) await kubectl('replace', '-f', join(folder, file));
  expect(await readConversions()).toEqual(NO_WEBHOOKS);
});

import { join } from 'node:path';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, expect, it } from 'vitest';
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

it('CRDs that no release of Helm owns, or another one, can be taken over with --take-ownership, and keep their objects', async () => {
  await kubectl('create', '-f', join(chartFolder, 'files/crds'));
  await kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crd/sandboxes.agents.x-k8s.io');
  await createSandbox();
  const uid = await readUid();

  await expect(install(release.namespace)).rejects.toThrow(NOT_OWNED);
  await install(release.namespace, '--take-ownership');
  expect(await readUid()).toBe(uid);

  await runHelm(release.namespace, 'uninstall', release.name);
  expect(await readUid()).toBe(uid);

  await expect(install(ELSEWHERE)).rejects.toThrow(NOT_OWNED);
  await install(ELSEWHERE, '--take-ownership');
  expect(await readUid()).toBe(uid);
  await runHelm(ELSEWHERE, 'upgrade', release.name, chartFolder, '--set', 'policies.mode=off');
});

import type { ControlPlane } from '@sandlot/local-cluster';
import { startControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartFolder, helm, release, template, withHibernation } from './chart.ts';

const POINTS = ['restricted volume types', 'runAsNonRoot', 'runAsUser'];
const ON = 'hibernation.enabled=true,runtime.delivery=ImageVolume';

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane({});
  await kubectl(['create', 'namespace', release.namespace]);
});

afterAll(() => plane.stop());

async function kubectl(args: readonly string[]): Promise<string> {
  const { stdout, stderr, code } = await plane.kubectl(args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

async function install(values: string): Promise<void> {
  const args = ['upgrade', '--install', release.name, chartFolder, '-n', release.namespace, '--set', values];
  const { code, stderr } = await helm(args, { KUBECONFIG: plane.kubeconfigPath });
  if (code !== 0) throw new Error(stderr);
}

const readClass = (): Promise<string> => kubectl(['get', 'sandboxsnapshotclass', '-o', 'jsonpath={.items[*].metadata.uid}']);
const readRetention = (): Promise<string> =>
  kubectl(['get', 'sandboxsnapshotclass', 'node', '-o', 'jsonpath={.spec.retention}']);
const inRelease = (...args: string[]): Promise<string> => kubectl(['-n', release.namespace, ...args]);

describe('hibernation on a real API server', () => {
  it('breaks the restricted Pod Security Standard in these points, for root and its folders, and in no others', async () => {
    await kubectl(['label', 'namespace', release.namespace, 'pod-security.kubernetes.io/warn=restricted']);
    const { stdout } = await template({ ...withHibernation, crds: { enabled: false }, api: { enabled: false } });
    const objects = stdout.split(/^---$/m).filter((part) => !part.includes('helm.sh/hook'));
    const { stderr } = await plane.kubectl(['apply', '--server-side', '--dry-run=server', '-f', '-'], objects.join('---'));
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect([...stderr.matchAll(/(?<=: |, )[a-zA-Z ]+(?=!= true| \(|=0)/g)].map(([point]) => point.trim())).toEqual(POINTS);
  });

  it('has its default class with the first installation, which brings the kind', async () => {
    await install(ON);
    expect(await readClass()).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(await readRetention())).toEqual({ failedSeconds: 600 });
  });

  it('leaves the class alone in an upgrade that does not change it, and makes it anew in one that does', async () => {
    const uid = await readClass();
    await install(`${ON},log.level=debug`);
    expect(await readClass()).toBe(uid);
    await install(`${ON},hibernation.retention.readySeconds=3600`);
    expect(JSON.parse(await readRetention())).toEqual({ failedSeconds: 600, readySeconds: 3600 });
  });

  it('can be turned off, and then leaves nothing but the CRDs and the class', async () => {
    await install('hibernation.enabled=false');
    const kinds = 'daemonsets,deployments,secrets,networkpolicies,serviceaccounts,roles,rolebindings';
    const left = await inRelease('get', kinds, '-o', 'name');
    expect(left).toContain('deployment.apps/sandlot-sandbox-controller');
    expect(left.split('\n').filter((name) => /snapshot|-node/.test(name))).toEqual([]);
    const policies = await kubectl(['get', 'validatingadmissionpolicies,clusterroles', '-o', 'name']);
    expect(policies.split('\n').filter((name) => /sandlot-(snapshot|controllers-(nodes|snapshots))/.test(name))).toEqual([]);
  });
});

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identify } from '../process/identity.ts';
import { waitFor } from '../process/wait.ts';
import type { ControlPlane } from './control-plane.ts';
import { startControlPlane } from './control-plane.ts';

const widgetCrd = fileURLToPath(new URL('./fixtures/widget-crd.yaml', import.meta.url));

describe('a control plane of etcd and kube-apiserver', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane({ audit: true, crds: [widgetCrd] });
  });
  afterAll(async () => plane.stop());

  it('serves Kubernetes 1.36 to kubectl', async () => {
    const { stdout } = await plane.kubectl(['version', '--output=json']);
    expect(stdout).toMatch(/"gitVersion": "v1\.36\.3"/);
  });

  it('serves the custom resources of its `crds` option', async () => {
    const widget = { apiVersion: 'example.test/v1', kind: 'Widget', metadata: { name: 'one' } };
    const { code, stderr } = await plane.kubectl(['apply', '-f', '-'], JSON.stringify(widget));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('accepts a pod although no controller creates service accounts', async () => {
    expect((await plane.kubectl(['run', 'lonely', '--image=busybox'])).code).toBe(0);
  });

  it('authenticates a client by its certificate and forbids what no role allows', async () => {
    const kubeconfig = await plane.kubeconfigFor('jane', ['tenants']);
    const who = await plane.kubectl(['--kubeconfig', kubeconfig, 'auth', 'whoami', '--output=json']);
    expect(who.stdout).toContain('"username": "jane"');
    expect(who.stdout).toContain('"tenants"');
    const list = await plane.kubectl(['--kubeconfig', kubeconfig, 'get', 'secrets']);
    expect(list.code).toBe(1);
    expect(list.stderr).toContain('Forbidden');
  });

  it('writes one audit line per finished request', async () => {
    await plane.kubectl(['create', 'configmap', 'audited']);
    const lines = await waitFor(
      async () => {
        const log = await readFile(plane.auditLogPath ?? '', 'utf8');
        const found = log.split('\n').filter((line) => /"verb":"create".*"name":"audited"/.test(line));
        return found.length > 0 && found;
      },
      { what: 'the audit line', timeoutMs: 10_000 },
    );
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"stage":"ResponseComplete"');
  });

  it('keeps its data and address after a crash', async () => {
    await plane.kubectl(['create', 'namespace', 'kept']);
    await plane.restart();
    expect((await plane.kubectl(['get', 'namespace', 'kept', '--output=name'])).stdout).toBe('namespace/kept\n');
  });

  it('shares nothing with a second control plane', async () => {
    await using other = await startControlPlane();
    expect(other.server).not.toBe(plane.server);
    await other.kubectl(['create', 'namespace', 'elsewhere']);
    expect((await plane.kubectl(['get', 'namespace', 'elsewhere'])).stderr).toContain('NotFound');
  });
});

describe('a control plane with every component', () => {
  it('schedules pods onto simulated nodes, runs them, and garbage-collects them after their owner is deleted', async () => {
    await using plane = await startControlPlane({ controllerManager: true, scheduler: true, kwokNodes: 2 });
    expect((await plane.kubectl(['create', 'deployment', 'web', '--image=web', '--replicas=3'])).code).toBe(0);
    const rollout = await plane.kubectl(['rollout', 'status', 'deployment/web', '--timeout=60s']);
    expect(rollout).toMatchObject({ code: 0, stderr: '' });
    await plane.kubectl(['delete', 'deployment', 'web']);
    await waitFor(async () => (await plane.kubectl(['get', 'pods', '--output=name'])).stdout === '', {
      what: 'the pods of the deleted deployment to go',
      timeoutMs: 60_000,
    });
  });

  it('leaves no process behind when it stops', async () => {
    const plane = await startControlPlane({ kwokNodes: 1 });
    const children = await childPids();
    expect(children.length).toBeGreaterThanOrEqual(3);
    await plane.stop();
    for (const pid of children) expect(await identify(pid)).toBeUndefined();
  });
});

async function childPids(): Promise<number[]> {
  const text = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');
  return text.trim().split(' ').map(Number);
}

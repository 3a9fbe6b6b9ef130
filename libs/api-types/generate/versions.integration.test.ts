import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { claim, pool, sandbox, template } from '../test/index.ts';
import { formatRfc3339, setCondition } from '../src/rules/conditions.ts';

const crds = join(import.meta.dirname, '../../../charts/sandlot/files/crds');
let server: ControlPlane;

beforeAll(async () => {
  server = await startControlPlane({ crds: [crds] });
  for (const file of await readdir(crds)) {
    // Client-side apply on purpose: it must fit the annotation in which kubectl keeps the object.
    await kubectl(['apply', '-f', '-'], await readFile(join(crds, file), 'utf8'));
  }
});
afterAll(() => server.stop());

const stored = z.object({
  apiVersion: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z.record(z.string(), z.unknown()),
  status: z.record(z.string(), z.unknown()).optional(),
});
type Stored = z.infer<typeof stored>;

async function kubectl(args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await server.kubectl(args, input);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

async function read(version: string, kind: string, name: string): Promise<Stored> {
  const group = kind === 'sandboxes' ? 'agents.x-k8s.io' : 'extensions.agents.x-k8s.io';
  return stored.parse(JSON.parse(await kubectl(['get', `${kind}.${version}.${group}`, name, '-o', 'json'])));
}

/** Creates an object in one of the versions; a client that checks nothing, unless `strict`. */
async function create(
  version: string,
  object: { apiVersion?: string | undefined; metadata: object; spec: object },
): Promise<void> {
  const apiVersion = (object.apiVersion ?? '').replace('v1beta1', version);
  const { name } = z.object({ name: z.string() }).parse(object.metadata);
  await kubectl(
    ['create', '--validate=false', '-f', '-'],
    JSON.stringify({ ...object, apiVersion, metadata: { name } }),
  );
}

async function headings(resource: string, wide = false): Promise<string[]> {
  const [line = ''] = (await kubectl(['get', resource, ...(wide ? ['-o', 'wide'] : [])])).split('\n');
  return line.trim().split(/\s{2,}|\s+/);
}

const everything = sandbox({
  name: 'everything',
  spec: {
    volumeClaimTemplates: [
      { metadata: { name: 'work', labels: { a: 'b' } }, spec: { accessModes: ['ReadWriteOnce'] } },
    ],
    service: false,
    replicas: 1,
    ttlSeconds: 60,
    idle: { suspendAfterSeconds: 5 },
    autoResume: 'Always',
    startup: { action: 'SuspendAfterReady' },
    podTemplate: {
      metadata: { labels: { team: 'a' } },
      spec: {
        automountServiceAccountToken: false,
        containers: [
          { name: 'main', ports: [{ containerPort: 80, protocol: 'TCP' }], resources: { limits: { cpu: 1 } } },
        ],
      },
    },
  },
});

describe('both versions', () => {
  it.each([
    ['v1alpha1', 'v1beta1'],
    ['v1beta1', 'v1alpha1'],
  ])('show what was created in %s unchanged in %s, status included', async (written, other) => {
    const name = `written-in-${written}`;
    await create(written, { ...everything, metadata: { name } });
    const now = formatRfc3339(0);
    const conditions = setCondition(
      [],
      { type: 'Ready', status: 'True', reason: 'DependenciesReady', message: 'Pod is Ready' },
      now,
    );
    const status = {
      conditions,
      podIPs: ['10.0.0.1'],
      nodeName: 'a',
      replicas: 1,
      restarts: { count: 2 },
      phase: 'Running',
      startedAt: now,
    };
    const resource = `sandboxes.${written}.agents.x-k8s.io`;
    await kubectl(['patch', resource, name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);
    const here = await read(written, 'sandboxes', name);
    const there = await read(other, 'sandboxes', name);
    expect(there).toEqual({ ...here, apiVersion: `agents.x-k8s.io/${other}` });
    expect(here.spec).toEqual({ ...everything.spec, shutdownPolicy: 'Retain' });
    expect(here.status).toEqual(status);
  });

  it("keep the other version's field through a patch", async () => {
    await create('v1alpha1', { ...everything, metadata: { name: 'patched' } });
    await kubectl([
      'patch',
      'sandboxes.v1beta1.agents.x-k8s.io',
      'patched',
      '--type=merge',
      '-p',
      '{"spec":{"ttlSeconds":61}}',
    ]);
    expect((await read('v1alpha1', 'sandboxes', 'patched')).spec).toMatchObject({ replicas: 1, ttlSeconds: 61 });
  });

  it.each([
    ['agents.x-k8s.io', 'Sandbox', sandbox({ name: 'warned' })],
    ['extensions.agents.x-k8s.io', 'SandboxClaim', claim({ name: 'warned' })],
    ['extensions.agents.x-k8s.io', 'SandboxTemplate', template({ name: 'warned' })],
    ['extensions.agents.x-k8s.io', 'SandboxWarmPool', pool({ name: 'warned' })],
  ])('warn about %s/v1alpha1 %s and stay silent about v1beta1', async (group, kind, object) => {
    const dryRun = ['create', '--dry-run=server', '-f', '-'];
    const body = { ...object, metadata: { name: 'warned' } };
    const alpha = await server.kubectl(dryRun, JSON.stringify({ ...body, apiVersion: `${group}/v1alpha1` }));
    const beta = await server.kubectl(dryRun, JSON.stringify(body));
    expect(alpha.stderr.trim()).toBe(
      `Warning: ${group}/v1alpha1 ${kind} is deprecated; use ${group}/v1beta1 ${kind} instead`,
    );
    expect(beta).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('the API server', () => {
  it('prunes unknown fields without strict validation, also inside the Pod spec', async () => {
    const spec = { colour: 'red', podTemplate: { spec: { containers: [{ name: 'main', flavour: 'sweet' }] } } };
    await create('v1beta1', { ...sandbox({ name: 'pruned' }), spec });
    expect((await read('v1beta1', 'sandboxes', 'pruned')).spec).toEqual({
      shutdownPolicy: 'Retain',
      podTemplate: { spec: { containers: [{ name: 'main' }] } },
    });
  });

  it('defaults a port to TCP, which is a key of the list', async () => {
    const containers = [{ name: 'main', ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }] }];
    await create('v1beta1', sandbox({ name: 'ports', spec: { podTemplate: { spec: { containers } } } }));
    expect((await read('v1beta1', 'sandboxes', 'ports')).spec['podTemplate']).toEqual({
      spec: {
        containers: [
          {
            name: 'main',
            ports: [
              { containerPort: 53, protocol: 'TCP' },
              { containerPort: 53, protocol: 'UDP' },
            ],
          },
        ],
      },
    });
  });

  it('fills in the defaults that both versions agree on', async () => {
    await create('v1alpha1', {
      ...template({ name: 'defaults' }),
      spec: { ...template().spec, podFailurePolicy: {}, runtime: {} },
    });
    expect((await read('v1beta1', 'sandboxtemplates', 'defaults')).spec).toMatchObject({
      networkPolicyManagement: 'Managed',
      envVarsInjectionPolicy: 'Disallowed',
      volumeClaimTemplatesPolicy: 'Disallowed',
      podFailurePolicy: {
        restart: 'Never',
        maxRestarts: 5,
        backoffSeconds: 10,
        maxBackoffSeconds: 300,
        resetAfterSeconds: 600,
      },
      runtime: { inject: false },
    });
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: {} };
    const spec = {
      sandboxTemplateRef: { name: 'a' },
      updateStrategy,
      refill: {},
      autoscaling: { maxReplicas: 1 },
      stuckMember: {},
    };
    await create('v1beta1', { ...pool({ name: 'defaults' }), spec });
    expect((await read('v1beta1', 'sandboxwarmpools', 'defaults')).spec).toEqual({
      sandboxTemplateRef: { name: 'a' },
      replicas: 1,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: 0 } },
      refill: { maxInFlight: 300, delay: '0s' },
      autoscaling: {
        minReplicas: 0,
        maxReplicas: 1,
        targetFreePercent: 20,
        coverSeconds: 0,
        scaleDownDelaySeconds: 300,
      },
      stuckMember: { graceSeconds: 300, unschedulable: 'Hold' },
    });
    await create('v1beta1', { ...claim({ name: 'defaults' }), spec: { warmPoolRef: { name: 'a' }, lifecycle: {} } });
    expect((await read('v1beta1', 'sandboxclaims', 'defaults')).spec).toEqual({
      warmPoolRef: { name: 'a' },
      lifecycle: { shutdownPolicy: 'Retain' },
      createOnNoStock: true,
      reserveFailedSandbox: false,
      skipInitRuntime: false,
    });
  });

  it('keeps the JSON type of a number-or-percentage', async () => {
    const updateStrategy = { type: 'RollingUpdate' as const, rollingUpdate: { maxUnavailable: 2, maxSurge: '10%' } };
    await create('v1beta1', pool({ name: 'mixed', spec: { updateStrategy } }));
    expect((await read('v1beta1', 'sandboxwarmpools', 'mixed')).spec).toMatchObject({ updateStrategy });
  });
});

describe('kubectl', () => {
  it('scales a Sandbox to nothing and back, through the version it prefers', async () => {
    await create('v1alpha1', { ...everything, metadata: { name: 'scaled' } });
    await kubectl(['scale', 'sandbox', 'scaled', '--replicas=0']);
    expect((await read('v1alpha1', 'sandboxes', 'scaled')).spec).toMatchObject({ replicas: 0 });
  });

  it('cannot scale a Sandbox that uses operatingMode', async () => {
    await create('v1beta1', sandbox({ name: 'by-mode', spec: { operatingMode: 'Running' } }));
    const { code, stderr } = await server.kubectl(['scale', 'sandbox', 'by-mode', '--replicas=0']);
    expect(code).toBe(1);
    expect(stderr).toContain('replicas and operatingMode are mutually exclusive');
  });

  it('scales a pool', async () => {
    await create('v1beta1', pool({ name: 'scaled' }));
    await kubectl(['scale', 'swp', 'scaled', '--replicas=4']);
    expect((await read('v1beta1', 'sandboxwarmpools', 'scaled')).spec).toMatchObject({ replicas: 4 });
  });

  it.each([
    ['sandbox', 'NAME READY REASON AGE', 'NAME READY REASON AGE PHASE NODE IP EXPIRES'],
    ['sbx', 'NAME READY REASON AGE', 'NAME READY REASON AGE PHASE NODE IP EXPIRES'],
    [
      'sandboxclaim',
      'NAME READY SANDBOX REASON AGE',
      'NAME READY SANDBOX REASON AGE PHASE DESIRED CLAIMED TEMPLATE POOL',
    ],
    ['sbc', 'NAME READY SANDBOX REASON AGE', 'NAME READY SANDBOX REASON AGE PHASE DESIRED CLAIMED TEMPLATE POOL'],
    ['sandboxtemplate', 'NAME AGE', 'NAME AGE POOLS NETWORKPOLICY HASH'],
    ['sbt', 'NAME AGE', 'NAME AGE POOLS NETWORKPOLICY HASH'],
    ['swp', 'NAME READY DESIRED AGE', 'NAME READY DESIRED AGE TARGET UPDATED INUSE TEMPLATE'],
  ])('lists %s by its short name, with the documented columns', async (resource, columns, wideColumns) => {
    for (const object of [
      sandbox({ name: 'listed' }),
      claim({ name: 'listed' }),
      template({ name: 'listed' }),
      pool({ name: 'listed' }),
    ]) {
      await kubectl(['apply', '-f', '-'], JSON.stringify({ ...object, metadata: { name: 'listed' } }));
    }
    expect((await headings(resource)).join(' ')).toBe(columns);
    expect((await headings(resource, true)).join(' ')).toBe(wideColumns);
  });

  it('lists the kinds of agent-sandbox by the category, and no kind under "all"', async () => {
    const names = async (category: string): Promise<string> =>
      kubectl(['api-resources', `--categories=${category}`, '-o', 'name']);
    expect((await names('agent-sandbox')).trim().split('\n').sort()).toEqual([
      'sandboxclaims.extensions.agents.x-k8s.io',
      'sandboxes.agents.x-k8s.io',
      'sandboxtemplates.extensions.agents.x-k8s.io',
      'sandboxwarmpools.extensions.agents.x-k8s.io',
    ]);
    expect(await names('all')).not.toMatch(/agents\.x-k8s\.io|sandlot\.dev/);
  });
});

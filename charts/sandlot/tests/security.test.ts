import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Rendered } from './chart.ts';
import { makeCredentials } from './credentials.ts';
import type { Credentials } from './credentials.ts';
import { chartFolder, find, podTemplates, render, valueSets } from './chart.ts';

const workloads = [
  'sandlot-api',
  'sandlot-claim-controller',
  'sandlot-gateway',
  'sandlot-key-keeper',
  'sandlot-nats',
  'sandlot-redis',
  'sandlot-sandbox-controller',
  'sandlot-streams',
  'sandlot-warmpool-controller',
];

describe('pods of the release', () => {
  it('belong to the nine known workloads', async () => {
    expect(
      podTemplates(await render())
        .map(([name]) => name)
        .sort(),
    ).toEqual(workloads);
  });

  it.each(workloads)('%s meets the restricted Pod Security Standard, and more', async (name) => {
    const { spec } = podTemplate(await render(), name);
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => field in spec)).toEqual([]);
    for (const container of spec.containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it.each(workloads)('%s has requests, a memory limit and three probes', async (name) => {
    for (const container of podTemplate(await render(), name).spec.containers) {
      expect(container.resources).toMatchObject({
        requests: { cpu: expect.any(String) as string, memory: expect.any(String) as string },
        limits: { memory: expect.any(String) as string },
      });
      expect(container).toHaveProperty('startupProbe');
      expect(container).toHaveProperty('readinessProbe');
      expect(container).toHaveProperty('livenessProbe');
    }
  });

  it('write none of their memory to disk: no diagnostic reports, heap snapshots, debuggers or aborts', async () => {
    const dumps = /NODE_OPTIONS|--(?:report|diagnostic|heapsnapshot|heap-prof|inspect|abort-on)/;
    for (const [, { spec }] of podTemplates(await render())) expect(JSON.stringify(spec)).not.toMatch(dumps);
    const image = await readFile(join(chartFolder, '../../images/controller/Dockerfile'), 'utf8');
    expect(image).toContain('ENTRYPOINT');
    expect(image).not.toMatch(dumps);
  });

  it('mount a service account token only if they use the Kubernetes API', async () => {
    const tokens = podTemplates(await render()).map(([name, { spec }]) => [name, spec.automountServiceAccountToken]);
    expect(Object.fromEntries(tokens)).toEqual({
      'sandlot-api': true,
      'sandlot-claim-controller': true,
      'sandlot-gateway': true,
      'sandlot-key-keeper': true,
      'sandlot-sandbox-controller': true,
      'sandlot-warmpool-controller': true,
      'sandlot-nats': false,
      'sandlot-redis': false,
      'sandlot-streams': false,
    });
  });

  it('are spread over nodes and have a PodDisruptionBudget if there are two replicas', async () => {
    const objects = await render(valueSets['high-availability']);
    const budgets = objects.filter(({ kind }) => kind === 'PodDisruptionBudget').map(({ metadata }) => metadata.name);
    const replicated = workloads.filter((name) => /-(?:controller|gateway|api|nats)$/.test(name));
    expect(budgets.sort()).toEqual([...replicated, 'sandlot-egress', 'sandlot-template-builder', 'sandlot-webhooks'].sort());
    for (const name of budgets) expect(podTemplate(objects, name).spec.topologySpreadConstraints).toHaveLength(1);
    expect((await render()).filter(({ kind }) => kind === 'PodDisruptionBudget')).toEqual([]);
  });

  it('are covered by these NetworkPolicies, including default-deny', async () => {
    const policies = (await render())
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .map(({ metadata }) => metadata.name);
    expect(policies.sort()).toEqual([
      'sandlot-api',
      'sandlot-api-nats',
      'sandlot-api-redis',
      'sandlot-controllers',
      'sandlot-default-deny',
      'sandlot-gateway',
      'sandlot-gateway-nats',
      'sandlot-key-keeper',
      'sandlot-nats',
      'sandlot-redis',
      'sandlot-runtime-init',
      'sandlot-streams',
      'sandlot-streams-nats',
      'sandlot-test',
    ]);
  });
});

describe('passwords', () => {
  it('have no default', async () => {
    const values: unknown = parse(await readFile(join(chartFolder, 'values.yaml'), 'utf8'));
    expect(findPasswordKeys(values)).toEqual([]);
  });

  it('are generated: long, and different for each user and installation', async () => {
    const objects = await render();
    const [first, second] = [listTexts(await makeCredentials(objects)), listTexts(await makeCredentials(objects))];
    const all = [...first, ...second];
    expect(new Set(all).size).toBe(all.length);
    const passwords = first.filter((secret) => /^p[0-9a-f]{56}$/.test(secret));
    expect(passwords).toHaveLength(14);
    expect(first).toHaveLength(26);
  });

  it('reach containers by reference only', async () => {
    const objects = await render();
    const env = podTemplates(objects).flatMap(([, { spec }]) =>
      spec.containers.flatMap((container) => container.env ?? []),
    );
    const literal = env.filter(({ name, value }) => name.endsWith('PASSWORD') && value !== undefined);
    expect(literal).toEqual([]);
  });

  it('are not generated if the values name a Secret', async () => {
    const objects = await render({
      nats: { auth: { existingSecret: 'mine' }, tls: { secret: 'my-nats' } },
      redis: { auth: { existingSecret: 'mine-too' }, tls: { existingSecret: 'my-redis' } },
      runtime: { existingSecret: 'mine-as-well' },
      gateway: { existingSecret: 'and-this' },
    });
    expect(await makeCredentials(objects)).toEqual({});
  });
});

function podTemplate(objects: readonly Rendered[], name: string): ReturnType<typeof podTemplates>[number][1] {
  const kind = /-(?:controller|builder|webhooks|egress|gateway|api|streams|key-keeper)$/.test(name) ? 'Deployment' : 'StatefulSet';
  const template = find(objects, kind, name).spec?.template;
  if (template === undefined) throw new Error(`${name} has no pod template`);
  return template;
}

function listTexts(credentials: Credentials): readonly string[] {
  return Object.values(credentials).flatMap((entries) => Object.values(entries));
}

/** Returns the keys of values that contain a password or token. */
function findPasswordKeys(values: unknown): readonly string[] {
  if (typeof values !== 'object' || values === null) return [];
  return Object.entries(values).flatMap(([key, value]) =>
    /password|token/i.test(key) && value !== '' ? [key] : findPasswordKeys(value),
  );
}

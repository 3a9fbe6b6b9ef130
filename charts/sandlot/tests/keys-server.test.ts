import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartFolder, helm, release } from './chart.ts';
import { runKeyKeeper } from './credentials.ts';

/** The last commit whose chart rendered the credentials itself. */
const EARLIER = '1271a7cc';
const NAMES = ['gateway-key', 'nats-auth', 'nats-tls', 'redis-auth', 'redis-tls', 'runtime'].map((name) => `sandlot-${name}`);

let plane: ControlPlane;
let folder: string;

/** Unpacks the earlier chart, which has its values and templates only. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-earlier-'));
  const unpack = `git archive ${EARLIER} charts/sandlot | tar -x -C "$0" --exclude=charts/sandlot/tests`;
  await promisify(execFile)('sh', ['-c', unpack, folder], { cwd: join(chartFolder, '../..') });
  plane = await startControlPlane({});
  await kubectl('create', 'namespace', release.namespace);
});

afterAll(async () => {
  await plane.stop();
  await rm(folder, { recursive: true, force: true });
});

async function kubectl(...args: readonly string[]): Promise<string> {
  const { stdout, stderr, code } = await plane.kubectl(args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

async function runHelm(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await helm([...args, '-n', release.namespace], { KUBECONFIG: plane.kubeconfigPath });
  if (code !== 0) throw new Error(stderr);
}

/** The values leave out what is large and concerns no credential. */
const install = (chart = chartFolder, mode = 'off'): Promise<void> =>
  runHelm('upgrade', '--install', release.name, chart, '--set', `crds.enabled=false,policies.mode=${mode}`);
const uninstall = (): Promise<void> => runHelm('uninstall', release.name);

interface SecretJson {
  readonly metadata: { readonly name: string };
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
}

/** The credentials of the release: data and type by name. */
async function readCredentials(): Promise<Readonly<Record<string, Pick<SecretJson, 'type' | 'data'>>>> {
  const text = await kubectl('-n', release.namespace, 'get', 'secrets', '-o', 'json');
  const { items } = JSON.parse(text) as { readonly items: readonly SecretJson[] };
  const own = items.filter(({ type }) => type === 'Opaque' || type === 'kubernetes.io/tls');
  return Object.fromEntries(own.map(({ metadata: { name }, type, data }) => [name, { type, data }]));
}

async function readPods(): Promise<string> {
  return kubectl('-n', release.namespace, 'get', 'deployments,statefulsets', '-o', 'jsonpath={.items[*].spec.template}');
}

const deleteCredentials = (): Promise<string> => kubectl('-n', release.namespace, 'delete', 'secrets', ...NAMES);

describe('credentials of a release', () => {
  it('are made with the rights of the key-keeper, and stay over upgrade, uninstallation and another installation', async () => {
    await install();
    expect(await readCredentials()).toEqual({});
    expect(await runKeyKeeper(plane)).toBeUndefined();
    const made = await readCredentials();
    expect(Object.keys(made).toSorted()).toEqual(NAMES);
    const pods = await readPods();
    for (const again of [() => install(), uninstall, () => install()]) {
      await again();
      expect(await readCredentials()).toEqual(made);
    }
    expect(await readPods()).toBe(pods);
    expect(await runKeyKeeper(plane)).toBeUndefined();
    expect(await readCredentials()).toEqual(made);
    await uninstall();
    await deleteCredentials();
  });

  it('of an earlier chart, which Helm owns, stay over upgrade, rollback, uninstallation and another installation', async () => {
    await install(join(folder, 'charts/sandlot'));
    const made = await readCredentials();
    expect(Object.keys(made).toSorted()).toEqual(NAMES);
    const rollBack = (): Promise<void> => runHelm('rollback', release.name, '1');
    const forth = (): Promise<void> => install();
    for (const [step, again] of [forth, rollBack, forth, forth, uninstall, forth].entries()) {
      await again();
      expect(await readCredentials(), `step ${step}`).toEqual(made);
    }
    expect(await runKeyKeeper(plane)).toBeUndefined();
    // It gives a user that the earlier chart did not have a password, and changes no other.
    const kept = await readCredentials();
    expect(kept).toMatchObject(made);
    const added = Object.entries(kept).flatMap(([name, { data }]) =>
      Object.keys(data).filter((key) => made[name]?.data[key] === undefined).map((key) => `${name}/${key}`),
    );
    expect(added).toEqual(['sandlot-redis-auth/api']);
    await uninstall();
    await deleteCredentials();
  });

  it('cannot be taken for an excuse to write other Secrets: the API server refuses the account of the key-keeper', async () => {
    await install(chartFolder, 'enforce');
    const as = `--as=system:serviceaccount:${release.namespace}:sandlot-key-keeper`;
    const attempts = [
      ['create', 'secret', 'generic', 'other', '--from-literal=a=b'],
      ['create', '-f', '-'],
      ['get', 'secrets'],
      ['delete', 'secret', 'sandlot-runtime'],
    ];
    // The API server would fill it with a token of the account.
    const token = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'sandlot-runtime', annotations: { 'kubernetes.io/service-account.name': 'default' } },
      type: 'kubernetes.io/service-account-token',
    };
    await plane.kubectl(['-n', release.namespace, 'create', 'serviceaccount', 'default']);
    await expect
      .poll(async () => (await plane.kubectl(['-n', release.namespace, ...(attempts[0] ?? []), '--dry-run=server', as])).code, { timeout: 30_000 })
      .not.toBe(0);
    for (const attempt of attempts) {
      const { code, stderr } = await plane.kubectl(['-n', release.namespace, ...attempt, as], JSON.stringify(token));
      expect([code === 0, stderr], attempt.join(' ')).toEqual([false, expect.stringMatching(/forbidden|may only create and change/i)]);
    }
  });
});

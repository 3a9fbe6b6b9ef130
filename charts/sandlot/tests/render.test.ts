import { ensureBinaries } from '@sandlot/local-cluster';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartFolder, find, lint, render, template, valueSets } from './chart.ts';

describe('the chart', () => {
  it.each(Object.entries(valueSets))('passes helm lint --strict with %s values', async (_, values) => {
    const { code, stdout } = await lint(values);
    expect(code, stdout).toBe(0);
  });

  it.each(Object.entries(valueSets))('renders %s values as in the golden file', async (name, values) => {
    const { code, stdout, stderr } = await template({ ...values, crds: { enabled: false } });
    expect(code, stderr).toBe(0);
    await expect(stdout).toMatchFileSnapshot(`golden/${name}.yaml`);
  });

  it('uses the same NATS version as the integration tests', async () => {
    const module = await readFile(join(chartFolder, '../../tools/local-cluster/go/go.mod'), 'utf8');
    const version = /nats-server\/v2 v(\S+)/.exec(module)?.[1];
    const values = parse(await readFile(join(chartFolder, 'values.yaml'), 'utf8')) as {
      nats: { image: { tag: string } };
    };
    expect(values.nats.image.tag).toMatch(new RegExp(`^${version ?? 'none'}(-|$)`));
  });

  it('writes a NATS configuration that the server accepts', async () => {
    const config = find(await render({ nats: { tls: { enabled: false } } }), 'ConfigMap', 'sandlot-nats').data?.['nats.conf'] ?? '';
    const folder = await mkdtemp(join(tmpdir(), 'sandlot-nats-'));
    const bin = await ensureBinaries(['nats-server']);
    const services = ['SANDBOX_CONTROLLER', 'WARMPOOL_CONTROLLER', 'CLAIM_CONTROLLER'];
    const users = [...services, 'API', 'GATEWAY', 'EVENTS_READER', 'EVENTS_REPLAYER', 'STREAMS', 'ADMIN'];
    const passwords = Object.fromEntries(users.map((user) => [`${user}_PASSWORD`, `p${user.toLowerCase()}`]));
    try {
      await writeFile(join(folder, 'nats.conf'), config);
      const check = (): unknown =>
        execFileSync(bin('nats-server'), ['-t', '-c', join(folder, 'nats.conf')], {
          env: { ...process.env, ...passwords, POD_NAME: 'sandlot-nats-0' },
          stdio: 'pipe',
        });
      expect(check).not.toThrow();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('keeps CRDs on uninstall unless crds.keep is false, and renders none if crds.enabled is false', async () => {
    const crdsWith = async (crds: object): Promise<readonly (string | undefined)[]> =>
      (await render({ crds }))
        .filter(({ kind }) => kind === 'CustomResourceDefinition')
        .map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy']);
    expect(await crdsWith({ enabled: true, keep: true })).toEqual(Array(7).fill('keep'));
    expect(await crdsWith({ enabled: true, keep: false })).toEqual(Array(7).fill(undefined));
    expect(await crdsWith({ enabled: false })).toEqual([]);
  });

});

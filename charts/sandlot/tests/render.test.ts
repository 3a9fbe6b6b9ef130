import { ensureBinaries } from '@sandlot/local-cluster';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartFolder, find, lint, podTemplates, render, renderAnew, template, valueSets } from './chart.ts';

describe('the chart', () => {
  it.each(Object.entries(valueSets))('passes helm lint --strict with %s values', async (_, values) => {
    const { code, stdout } = await lint(values);
    expect(code, stdout).toBe(0);
  });

  it.each(Object.entries(valueSets))('renders %s values as in the golden file', async (name, values) => {
    const { code, stdout, stderr } = await template({ ...values, crds: { enabled: false } });
    expect(code, stderr).toBe(0);
    await expect(withoutSecrets(stdout)).toMatchFileSnapshot(`golden/${name}.yaml`);
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
    expect(await crdsWith({ enabled: true, keep: true })).toEqual(Array(6).fill('keep'));
    expect(await crdsWith({ enabled: true, keep: false })).toEqual(Array(6).fill(undefined));
    expect(await crdsWith({ enabled: false })).toEqual([]);
  });

  it('restarts pods when a password in them changes, and only those', async () => {
    const checksums = async (): Promise<Readonly<Record<string, string | undefined>>> =>
      Object.fromEntries(
        podTemplates(await renderAnew()).map(([name, { metadata }]) => [name, JSON.stringify(metadata.annotations)]),
      );
    const [first, second] = [await checksums(), await checksums()];
    expect(Object.keys(first).filter((name) => first[name] === second[name])).toEqual([]);
    const external = async (): Promise<string> => JSON.stringify(podTemplates(await renderAnew(valueSets['external'])));
    expect(await external()).toBe(await external());
  });
});

/** Replaces generated passwords and keys: without a cluster to look them up in, every rendering generates new ones. */
function withoutSecrets(text: string): string {
  return text
    .replaceAll(/^( {2}(?:[a-z]+-controller|api|gateway|events-[a-z]+|streams|admin|password)): [A-Za-z0-9+/=]{40,}$/gm, '$1: MADE-UP')
    .replaceAll(/^( {2}(?:signing\.key|signing\.pub|envd\.key|identity\.seed)): [A-Za-z0-9+/=]{40,}$/gm, '$1: MADE-UP')
    .replaceAll(/^( {2}(?:keys|ca\.crt|tls\.crt|tls\.key)): [A-Za-z0-9+/=]{40,}$/gm, '$1: MADE-UP')
    .replaceAll(/(sandlot\.dev\/expires-at): "[0-9-]{10}"/g, '$1: IN-TEN-YEARS')
    .replaceAll(/(checksum\/(?:nats|redis|node|snapshot-controller)-(?:authority|certificate)): "[0-9a-f]{16}"/g, '$1: OF-MADE-UP')
    .replaceAll(/(checksum\/(?:passwords?|runtime-keys|gateway-key|(?:nats|redis)-password)): "[0-9a-f]{16}"/g, '$1: OF-MADE-UP');
}

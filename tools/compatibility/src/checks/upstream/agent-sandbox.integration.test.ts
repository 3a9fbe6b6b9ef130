import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findAgentSandboxCrds, findAgentSandboxModule } from '@sandlot/local-cluster';
import { beforeAll, describe, expect, it } from 'vitest';
import { goMethods } from '../../tables/agent-sandbox/clients.ts';
import { claimWords, eventWords, sandboxWords } from '../../tables/agent-sandbox/conditions.ts';
import { fieldTables } from '../../tables/agent-sandbox/fields.ts';
import { metrics } from '../../tables/agent-sandbox/metrics.ts';
import { legacyRuntime, router } from '../../tables/agent-sandbox/runtimes.ts';
import { listFieldsWithoutRow, readSchema } from '../fields.ts';
import { listMatches } from '../read.ts';
import { listNames, listUncovered } from './coverage.ts';
import { listEventReasons, listFunctions, listMetrics, listWords } from './go.ts';

/** The Go module of agent-sandbox, at the version that the local cluster runs. */
let folder: string;
beforeAll(async () => {
  folder = await findAgentSandboxModule();
}, 600_000);

/** The Go sources of folders of the module, without tests. */
async function readSources(...folders: readonly string[]): Promise<string> {
  const files = await Promise.all(
    folders.map(async (one) => {
      const names = await readdir(join(folder, one));
      return names.filter((name) => /(?<!_test)\.go$/.test(name)).map((name) => join(folder, one, name));
    }),
  );
  return (await Promise.all(files.flat().map((file) => readFile(file, 'utf8')))).join('\n');
}

describe('every field of the CRDs of agent-sandbox has a row', () => {
  it.each(fieldTables.map((kind) => [kind.crd, kind] as const))('%s', async (crd, kind) => {
    const schema = readSchema(await readFile(join(await findAgentSandboxCrds(), `${crd}.yaml`), 'utf8'));
    expect(schema.properties).toHaveProperty('spec');
    expect(listFieldsWithoutRow(kind, schema)).toEqual([]);
  });

  it('a field without a row is found', () => {
    const [kind] = fieldTables;
    if (kind === undefined) throw new Error('no tables');
    const schema = { properties: { spec: { properties: { novel: {} } } } };
    expect(listFieldsWithoutRow(kind, schema)).toEqual(['spec.novel']);
  });
});

const CORE = ['api/v1alpha1', 'api/v1beta1', 'controllers'] as const;
const EXTENSIONS = ['extensions/api/v1alpha1', 'extensions/api/v1beta1', 'extensions/controllers'] as const;

describe('every name that agent-sandbox uses has a row', () => {
  it('conditions of a Sandbox, and their reasons', async () => {
    expect(listWords(await readSources(...CORE)).filter((word) => !listNames([sandboxWords]).has(word))).toEqual([]);
  });

  it('reasons of a SandboxClaim', async () => {
    expect(listWords(await readSources(...EXTENSIONS)).filter((word) => !listNames([claimWords]).has(word))).toEqual(
      [],
    );
  });

  it('reasons of Events', async () => {
    const source = await readSources(...CORE, ...EXTENSIONS);
    expect(listEventReasons(source, source).filter((reason) => !listNames([eventWords]).has(reason))).toEqual([]);
  });

  it('metrics', async () => {
    const served = listMetrics(await readSources('internal/metrics'));
    expect(served.filter((metric) => !listNames([metrics]).has(metric))).toEqual([]);
  });

  it('functions of the client for Go', async () => {
    const functions = listFunctions(await readSources('clients/go/sandbox'));
    expect(listUncovered(Object.fromEntries(functions.map((name) => [name, []])), listNames([goMethods]))).toEqual([]);
  });

  it('routes of the runtime on port 8888', async () => {
    const source = await readFile(join(folder, 'examples/python-runtime-sandbox/main.py'), 'utf8');
    const routes = listMatches(source, /^@app\.(\w+\("[^"]+")/gm).map((route) => {
      const [method = '', path = ''] = route.split('("');
      return `${method.toUpperCase()} ${path.slice(0, -1).replaceAll(/\{[^}]+\}/g, '{path}')}`;
    });
    expect(routes.filter((route) => !listNames([legacyRuntime]).has(route))).toEqual([]);
  });

  it('headers of the router', async () => {
    const path = 'clients/python/agentic-sandbox-client/sandbox-router/sandbox_router.py';
    const headers = listMatches(await readFile(join(folder, path), 'utf8'), /headers\.get\("(X-Sandbox-[\w-]+)"/g);
    expect(headers.filter((header) => !listNames([router]).has(header))).toEqual([]);
  });
});

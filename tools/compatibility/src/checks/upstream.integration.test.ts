import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { fieldTables } from '../tables/agent-sandbox/fields.ts';
import { listFieldsWithoutRow, readSchema } from './fields.ts';

/** The module that pins the release of agent-sandbox which the local cluster runs. */
const FOLDER = join(import.meta.dirname, '../../../local-cluster/go-agent-sandbox');
const MODULE = 'sigs.k8s.io/agent-sandbox';
const run = promisify(execFile);

let crds: string;
beforeAll(async () => {
  const { stdout } = await run('go', ['mod', 'download', '-json', MODULE], { cwd: FOLDER, timeout: 500_000 });
  crds = join((JSON.parse(stdout) as { readonly Dir: string }).Dir, 'k8s/crds');
}, 600_000);

describe('every field of the CRDs of agent-sandbox has a row', () => {
  it.each(fieldTables.map((kind) => [kind.crd, kind] as const))('%s', async (crd, kind) => {
    const schema = readSchema(await readFile(join(crds, `${crd}.yaml`), 'utf8'));
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

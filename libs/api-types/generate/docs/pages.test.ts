import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { claimReasons, sandboxReasons, snapshotReasons, templateReasons, warmPoolReasons } from '../../src/index.ts';
import { kinds } from '../kinds.ts';
import { claimRows } from './claim-conditions.ts';
import type { ConditionRow } from './condition-table.ts';
import { listFields } from './fields.ts';
import { buildReferencePages } from './pages.ts';
import { templateRows, warmPoolRows } from './pool-and-template-conditions.ts';
import { sandboxRows } from './sandbox-conditions.ts';
import { snapshotRows } from './snapshot-conditions.ts';
import { table, withBlock } from './table.ts';

const root = join(import.meta.dirname, '../../../..');
const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');

describe('the pages of the reference', () => {
  it('have the tables that the schemas and constants say', async () => {
    for (const { path, text } of await buildReferencePages(read)) expect(text, path).toBe(await read(path));
  });

  it.each(kinds.map((kind) => [kind.kind, kind] as const))('%s: every field has a meaning', (_, kind) => {
    const fields = [...listFields(kind.spec), ...(kind.status === undefined ? [] : listFields(kind.status))];
    const silent = fields.filter(({ node }) => (node.description ?? '') === '').map(({ path }) => path);
    expect(silent).toEqual([]);
  });
});

describe('the tables of conditions', () => {
  const unwritten = new Set<string>([sandboxReasons.podNotTerminated]);
  const tables: readonly (readonly [string, readonly ConditionRow[], Readonly<Record<string, string>>])[] = [
    ['Sandbox', sandboxRows, sandboxReasons],
    ['SandboxClaim', claimRows, claimReasons],
    ['SandboxWarmPool', warmPoolRows, warmPoolReasons],
    ['SandboxTemplate', templateRows, templateReasons],
    ['SandboxSnapshot', snapshotRows, snapshotReasons],
  ];
  it.each(tables)('%s: have every reason that is ever written', (_, rows, reasons) => {
    const documented = new Set(rows.map(({ reason }) => reason));
    const written = Object.values(reasons).filter((reason) => !unwritten.has(reason));
    expect(written.filter((reason) => !documented.has(reason))).toEqual([]);
  });
});

describe('a block of a page', () => {
  const page = 'before\n<!-- begin a: npm run generate -->\nold\n<!-- end a -->\nafter';

  it('is replaced, and the text around it stays', () => {
    const next = withBlock(page, 'a', 'new');
    expect(next).toBe('before\n<!-- begin a: npm run generate -->\n\nnew\n\n<!-- end a -->\nafter');
    expect(withBlock(next, 'a', 'new')).toBe(next);
  });

  it('that the page lacks is an error', () => {
    expect(() => withBlock(page, 'b', 'new')).toThrow('the page has no block b');
  });

  it('escapes what would end a cell', () => {
    expect(table(['a'], [['x | y\nz']])).toBe('| a |\n| --- |\n| x \\| y z |');
  });
});

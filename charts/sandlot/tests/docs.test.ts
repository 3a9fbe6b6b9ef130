import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { listValueRows, formatValuesTable, withValuesTable } from '../../../tools/up/src/chart-docs.ts';
import { chartFolder, template } from './chart.ts';

const read = (file: string): Promise<string> => readFile(join(chartFolder, file), 'utf8');

describe('the README of the chart', () => {
  it('has the current table of values.yaml; node tools/up/src/chart-docs.ts updates it', async () => {
    const readme = await read('README.md');
    expect(withValuesTable(readme, formatValuesTable(listValueRows(await read('values.yaml'))))).toBe(readme);
  });

  it('cannot be generated if a value has no comment', () => {
    expect(() => listValueRows('# why\na: 1\nb: 2\n')).toThrow('b has no comment');
    expect(() => listValueRows('m:\n  # why\n  a: 1\n  b: 2\n')).toThrow('m.b has no comment');
  });

  it('does not take the comment about the file for that of a map which comes first', () => {
    const rows = listValueRows('# about the file\n\nm:\n  # first\n  a: 1\n');
    expect(rows).toEqual([{ path: 'm.a', default: '1', comment: 'first' }]);
  });

  it('lists the fields of a map with a comment if they have comments of their own', () => {
    const rows = listValueRows('# about all\nm:\n  # about one\n  n:\n    # first\n    a: 1\n');
    expect(rows).toEqual([
      { path: 'm', default: '', comment: 'about all' },
      { path: 'm.n', default: '', comment: 'about one' },
      { path: 'm.n.a', default: '1', comment: 'first' },
    ]);
  });

  it('uses the comment above a key, not the one about the file, and descends into maps without a comment', () => {
    const rows = listValueRows('# about the file\n\n# first\na: 1\nm:\n  # second\n  b: [x]\n# third\nn: { c: 2 }\n');
    expect(rows).toEqual([
      { path: 'a', default: '1', comment: 'first' },
      { path: 'm.b', default: '["x"]', comment: 'second' },
      { path: 'n', default: '{"c":2}', comment: 'third' },
    ]);
  });
});

describe('docs/operations/install.md', () => {
  it('has values that the chart accepts', async () => {
    const page = await read('../../docs/operations/install.md');
    const examples = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => parse(text) as object);
    expect(examples.length).toBeGreaterThan(0);
    for (const values of examples) expect(await template(values)).toMatchObject({ code: 0, stderr: '' });
  });
});

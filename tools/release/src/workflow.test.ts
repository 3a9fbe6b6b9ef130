import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutRoot } from '@sandlot/up';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly needs?: string | readonly string[];
  readonly steps: readonly {
    readonly run?: string;
    readonly uses?: string;
    readonly with?: Readonly<Record<string, unknown>>;
  }[];
}

const workflow = parse(await readFile(join(checkoutRoot, '.github/workflows/release.yml'), 'utf8')) as {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
};
const jobs = Object.entries(workflow.jobs);

function listNeeds(name: string): readonly string[] {
  const needs = [workflow.jobs[name]?.needs ?? []].flat();
  return needs.flatMap((need) => [need, ...listNeeds(need)]);
}

describe('the release workflow', () => {
  test('may write nothing but where a job says so', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
  });

  test.each(jobs.filter(([, { permissions }]) => Object.values(permissions ?? {}).includes('write')))(
    'publishes by %s only what was checked and tested',
    (name) => {
      expect(listNeeds(name)).toEqual(expect.arrayContaining(['check', 'test']));
    },
  );

  test.each(jobs)('writes no text of a tag into the shell of %s', (_, { steps }) => {
    const scripts = steps.map(({ run }) => run ?? '').join('\n');
    expect(scripts).not.toMatch(/\$\{\{\s*(?:github\.(?:ref_name|head_ref|event)|matrix)[^&|]*\}\}/);
  });

  test('runs the tests with the history, from which they read earlier charts', () => {
    const { steps = [] } = workflow.jobs['test'] ?? {};
    expect(steps.find(({ uses }) => uses?.startsWith('actions/checkout@'))?.with).toMatchObject({ 'fetch-depth': 0 });
  });

  test('attaches the archive of the chart, for clusters without a network', () => {
    const scripts = (workflow.jobs['publish']?.steps ?? []).map(({ run }) => run ?? '').join('\n');
    expect(scripts).toMatch(/gh release create .*"sandlot-\$VERSION\.tgz"/s);
  });

  test('calls commands of tools/release that exist', async () => {
    const main = await readFile(join(checkoutRoot, 'tools/release/src/main.ts'), 'utf8');
    const called = JSON.stringify(workflow).matchAll(/tools\/release\/src\/main\.ts (?<command>[a-z-]+)/g);
    for (const { groups } of called) expect(main).toMatch(new RegExp(`^  '?${groups?.['command']}'?[:,]`, 'm'));
  });
});

// The checks of the code's shape find what they exist for: each runs here on a small tree that breaks its rule.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { ESLint } from 'eslint';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

type Tree = Readonly<Record<string, string>>;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sandlot-shape-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The names of the rules that a tree of files breaks, by one of the configurations of dependency-cruiser. */
async function brokenRules(config: string, tree: Tree): Promise<string[]> {
  for (const [file, text] of Object.entries({ 'tsconfig.base.json': '{}', ...tree })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const folders = [...new Set(Object.keys(tree).map((file) => file.split('/')[0] ?? ''))];
  const { output } = await cruise(folders, { ...(await extractOptions(join(ROOT, config))), baseDir: folder });
  if (typeof output === 'string') throw new Error(output);
  return [...new Set(output.summary.violations.map(({ rule }) => rule.name))];
}

const PURITY = '.dependency-cruiser.purity.cjs';
const LAYERS = '.dependency-cruiser.cjs';

describe('the purity check', { timeout: 60_000 }, () => {
  it.each<[string, Tree, string[]]>([
    [
      'a decision that imports only pure files',
      {
        'services/a/src/decide.ts': `import { one } from './rules/one.ts'; export const two = one + 1;`,
        'services/a/src/rules/one.ts': 'export const one = 1;',
      },
      [],
    ],
    [
      'a decision that reads a file through a helper',
      {
        'services/a/src/x/decide-x.ts': `import { one } from './helper.ts'; export const two = one;`,
        'services/a/src/x/helper.ts': `import { readFileSync } from 'node:fs'; export const one = readFileSync('/x');`,
      },
      ['decisions-reach-no-platform-module'],
    ],
    [
      'a decision that reaches the client through a helper',
      {
        'services/a/src/decide.ts': `import { one } from './helper.ts'; export const two = one;`,
        'services/a/src/helper.ts': `import { get } from '../../../libs/kube/src/client/client.ts'; export const one = get;`,
        'libs/kube/src/client/client.ts': 'export const get = 1;',
      },
      ['decisions-reach-only-pure-libraries'],
    ],
    [
      'a decision that calls observe',
      {
        'services/a/src/decide.ts': `import { one } from './observe.ts'; export const two = one;`,
        'services/a/src/observe.ts': 'export const one = 1;',
      },
      ['decisions-reach-no-effect'],
    ],
    [
      'a decision that names a type of an impure file',
      {
        'services/a/src/decide.ts': `import type { One } from './observe.ts'; export const two = (one: One) => one;`,
        'services/a/src/observe.ts': `import { readFileSync } from 'node:fs'; export type One = 1; readFileSync('/x');`,
      },
      [],
    ],
  ])('judges %s', async (_, tree, expected) => {
    expect(await brokenRules(PURITY, tree)).toEqual(expected);
  });
});

describe('the layer check', { timeout: 60_000 }, () => {
  it.each<[string, Tree, string]>([
    [
      'a service that imports another service',
      {
        'services/a/src/main.ts': `import { b } from '../../b/src/main.ts'; export const a = b;`,
        'services/b/src/main.ts': 'export const b = 1;',
      },
      'services-never-import-each-other',
    ],
    [
      'a library that imports a service',
      {
        'libs/a/src/index.ts': `import { b } from '../../../services/b/src/main.ts'; export const a = b;`,
        'services/b/src/main.ts': 'export const b = 1;',
      },
      'libs-never-import-services',
    ],
    [
      'two files that import each other',
      {
        'libs/a/src/one.ts': `import { two } from './two.ts'; export const one = () => two;`,
        'libs/a/src/two.ts': `import { one } from './one.ts'; export const two = () => one;`,
      },
      'no-cycles',
    ],
  ])('finds %s', async (_, tree, rule) => {
    expect(await brokenRules(LAYERS, tree)).toContain(rule);
  });
});

describe('ESLint', { timeout: 120_000 }, () => {
  const eslint = new ESLint({
    cwd: ROOT,
    ruleFilter: ({ ruleId }) => /^no-(restricted-syntax|param)/.test(ruleId),
    // These rules read the syntax alone; without types no program is built.
    overrideConfig: { files: ['**/*.ts'], languageOptions: { parserOptions: { projectService: false } } },
  });
  const rulesBroken = async (file: string, text: string): Promise<string[]> => {
    const [result] = await eslint.lintText(text, { filePath: join(ROOT, file) });
    return result?.messages.map(({ ruleId, message }) => ruleId ?? message) ?? [];
  };
  const decide = 'services/claim-controller/src/decide.ts';
  const snapshot = 'services/claim-controller/src/plan/snapshot.ts';

  it.each([
    ['a decision that waits', { file: decide, text: 'export async function f() { await Promise.resolve(); }' }, 2],
    [
      'a decision that writes to what it was given',
      { file: decide, text: 'export function f(a: { b: number }) { a.b = 1; }' },
      1,
    ],
    ['a decision that reads the clock', { file: decide, text: 'export const now = (): number => Date.now();' }, 1],
    ['a function in a snapshot', { file: snapshot, text: 'export interface S { readonly read: () => number; }' }, 1],
    ['a method in a snapshot', { file: snapshot, text: 'export interface S { read(): number; }' }, 1],
    ['plain data in a snapshot', { file: snapshot, text: 'export interface S { readonly nowMs: number; }' }, 0],
  ])('judges %s', async (_, { file, text }, count) => {
    expect(await rulesBroken(file, text)).toHaveLength(count);
  });
});

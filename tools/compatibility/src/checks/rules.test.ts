import { describe, expect, it } from 'vitest';
import { pages } from '../pages.ts';
import { getRow } from '../model.ts';
import type { Item, Page } from '../model.ts';
import { findProblemsOfKind } from './fields.ts';
import { findProofProblems } from './proofs.ts';
import { listMethods, listOperations } from './typings.ts';
import { compareWords } from './words.ts';

const PROOF = ['a.test.ts', 'holds'] as const;
const buildTable = (...items: readonly Item[]) => ({ title: 'T', what: 'item', items });

describe('the tests that items name', () => {
  const buildPage = (...items: readonly Item[]): readonly Page[] => [
    { file: 'p.md', title: 'P', about: '', tables: [buildTable(...items)], sources: [] },
  ];
  const read = (path: string): string | undefined =>
    ({ 'a.test.ts': "it('holds', () => {});", 'b_test.go': 'func TestB(t *testing.T) {', 'c.py': 'def test_c(self):' })[
      path
    ];

  it('may be in TypeScript, Go and Python', () => {
    const items = [
      ['x', 'yes', PROOF],
      ['y', 'yes', ['b_test.go', 'TestB']],
      ['z', 'partly', ['c.py', 'test_c'], 'half'],
    ] as const;
    expect(findProofProblems(buildPage(...items), read)).toEqual([]);
  });

  it.each<[string, readonly Item[], string]>([
    ['a test of another name', [['x', 'yes', ['a.test.ts', 'hold']]], 'x names the test "hold"'],
    ['a file that is missing', [['x', 'yes', ['d.test.ts', 'holds']]], 'which d.test.ts does not have'],
    [
      'an item that is there twice',
      [
        ['x', 'no', 'gone'],
        ['x', 'no', 'gone'],
      ],
      'x is there twice',
    ],
  ])('are reported for %s', (_, items, problem) => {
    expect(findProofProblems(buildPage(...items), read)).toEqual([expect.stringContaining(problem)]);
  });
});

describe('the fields of a CRD', () => {
  const leaf = {};
  const schema = {
    properties: {
      spec: { properties: { kept: leaf, list: { items: { properties: { name: leaf, more: leaf } } }, ours: leaf } },
    },
  };
  const find = (items: readonly Item[], own: readonly string[]) =>
    findProblemsOfKind({ crd: '', table: buildTable(...items), own }, schema);

  it('are each an item or ours, and everything below an item without items below it is', () => {
    expect(
      find(
        [
          ['spec.kept', 'yes', PROOF],
          ['spec.list', 'yes', PROOF],
        ],
        ['spec.ours'],
      ),
    ).toEqual([]);
  });

  it('are reported when nothing lists them, also below a field that is listed in part', () => {
    const items = [
      ['spec.kept', 'yes', PROOF],
      ['spec.list.name', 'yes', PROOF],
    ] as const;
    expect(find(items, [])).toEqual([
      expect.stringContaining('the CRD has spec.list.more;'),
      expect.stringContaining('the CRD has spec.ours;'),
    ]);
  });

  it('contradict an item that is there and called missing, and one that is not there and called present', () => {
    const items = [
      ['spec.kept', 'no', 'gone'],
      ['spec.list', 'yes', PROOF],
      ['spec.none', 'yes', PROOF],
    ] as const;
    expect(find(items, ['spec.ours'])).toEqual([
      'T: the CRD has spec.kept, whose state is no',
      'T: the CRD lacks spec.none',
    ]);
  });
});

it('a constant that is neither an item nor ours is reported, and an item or word of ours without one', () => {
  const table = buildTable(['Ready', 'yes', PROOF], ['Gone', 'yes', PROOF], ['Later', 'no', 'not yet']);
  expect(compareWords(table, ['Ours', 'Past'], [{ a: 'Ready', b: 'Ours', c: 'New' }])).toEqual([
    'T: New is neither an item nor ours alone',
    'T: Past is listed as ours, and is no constant',
    'T: there is no constant Gone',
  ]);
});

describe('the typings of a client', () => {
  const typings = [
    'interface paths {',
    '  "/a/{id}": {',
    '    get: {',
    '    put?: never;',
    '    post: {',
    '}',
    'declare class Pty {',
    '  private readonly rpc;',
    '  constructor(transport: Transport);',
    '  create(opts: Options): void;',
    '  static list<T extends typeof Pty>(this: T): void;',
    '  create(): void;',
    '  get size(): number;',
    '}',
  ].join('\n');

  it('have its operations, and its public methods once each', () => {
    expect(listOperations(typings, 'paths')).toEqual(['GET /a/{id}', 'POST /a/{id}']);
    expect(listMethods(typings, 'Pty')).toEqual(['create', 'list']);
  });

  it('without the declaration are an error, so that a check never passes for lack of items', () => {
    expect(() => listMethods(typings, 'Git')).toThrow('the typings have no "declare class Git "');
  });
});

it.each([
  'InvalidConfiguration',
  'DELETE /v1/files/{path}',
  'process.v1.ProcessService/Execute',
  'Sandbox.files.delete',
  'Sandbox.commands.run(env=, cwd=)',
  'reserve-failed-sandbox-for',
  'cpu-request',
  'cpu-limit',
  'sandbox-name',
])('%s is an item, although nothing of ours has its name', (name) => {
  const names = pages.flatMap(({ tables }) => tables.flatMap(({ items }) => items.map((item) => getRow(item).name)));
  expect(names).toContain(name);
});

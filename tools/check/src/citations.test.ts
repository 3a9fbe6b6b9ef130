import { describe, expect, it } from 'vitest';
import { getAnchors, listLinks } from './citations-markdown.ts';
import { listBrokenCitations, listBrokenLinks, listOutsideContracts } from './citations-rules.ts';
import type { Checkout, Finding } from './citations-rules.ts';

/** Split, so that the check does not take the examples of its own test for citations. */
const DOCS = 'do' + 'cs';
const API = 'A' + 'PI';
const E2B = 'E2' + 'B';
const page = `# Sandbox\n\n## Pass order\n\n## Idle, suspend and resume\n`;

/** A checkout with one reference page and the given files. */
function checkoutWith(files: Readonly<Record<string, string>>): Checkout {
  const texts = new Map(Object.entries({ [`${DOCS}/reference/sandbox.md`]: page, ...files }));
  const paths = [...texts.keys(), 'services/api/src/main.ts', 'libs/kube/src/client.ts'];
  return {
    texts,
    exists: (path) => paths.some((known) => known === path || known.startsWith(path.replace(/\/?$/, '/'))),
  };
}

const problems = (findings: readonly Finding[]): string[] =>
  findings.map(({ path, line, problem }) => `${path}:${line}: ${problem}`);

describe('citations', () => {
  const cited = (text: string): string[] => problems(listBrokenCitations(checkoutWith({ 'libs/a/src/a.ts': text })));

  it.each([
    ['a heading', `/** ${DOCS}/reference/sandbox.md#pass-order */`],
    ['a heading with punctuation', `// See ${DOCS}/reference/sandbox.md#idle-suspend-and-resume.`],
    ['a whole page', `// ${DOCS}/reference/sandbox.md.`],
    ['a page in the folder of a package', '// libs/a/docs/nowhere.md'],
  ])('accepts the citation of %s', (_, text) => {
    expect(cited(text)).toEqual([]);
  });

  it('reports a heading that does not exist, with file and line', () => {
    expect(cited(`\n// ${DOCS}/reference/sandbox.md#conditions`)).toEqual([
      `libs/a/src/a.ts:2: ${DOCS}/reference/sandbox.md#conditions: no such heading`,
    ]);
  });

  it('reports a page that does not exist, also outside of the reference', () => {
    expect(cited(`// ${DOCS}/reference/nowhere.md#spec, ${DOCS}/adr/0099-none.md`)).toEqual([
      `libs/a/src/a.ts:1: ${DOCS}/reference/nowhere.md#spec: no such file`,
      `libs/a/src/a.ts:1: ${DOCS}/adr/0099-none.md: no such file`,
    ]);
  });

  it('reports broken citations in prose, charts and URLs of this repository', () => {
    const files = {
      'README.md': `See \`${DOCS}/nowhere.md\`.`,
      'charts/a.yaml': `url: https://example.com/sandlot/blob/main/${DOCS}/runbooks/none.md`,
    };
    expect(problems(listBrokenCitations(checkoutWith(files)))).toEqual([
      `README.md:1: ${DOCS}/nowhere.md: no such file`,
      `charts/a.yaml:1: ${DOCS}/runbooks/none.md: no such file`,
    ]);
  });
});

describe('links', () => {
  const linked = (path: string, text: string): string[] => problems(listBrokenLinks(checkoutWith({ [path]: text })));

  it.each([
    ['a file beside', `${DOCS}/reference/README.md`, '[a](sandbox.md#pass-order)'],
    ['a file elsewhere', 'libs/a/README.md', `[a](../../${DOCS}/reference/sandbox.md#pass-order "title")`],
    ['a folder', 'README.md', '[a](services/api/) ![b](libs/kube/src/client.ts)'],
    ['a path from the root', `${DOCS}/a.md`, '[a](/services/api)'],
    ['a heading of the same file', 'README.md', '# One\n\n## One\n\n[a](#one), [b](#one-1)'],
    ['another site', 'README.md', '[a](https://example.com/x.md#y), [b](mailto:a@example.com)'],
    ['something in code', 'README.md', '`[a](nowhere.md)`\n\n```md\n[b](nowhere.md)\n```'],
  ])('accepts a link to %s', (_, path, text) => {
    expect(linked(path, text)).toEqual([]);
  });

  it.each([
    ['a missing file', '[a](nowhere.md)', 'nowhere.md: no such file'],
    ['a missing heading', `[a](${DOCS}/reference/sandbox.md#status)`, 'no such heading'],
    ['a missing heading of the same file', '# One\n\n[a](#two)', '#two: no such heading'],
    ['an image that is missing', '![a](a.png)', 'a.png: no such file'],
    ['a definition that leads nowhere', '[a]: nowhere.md', 'nowhere.md: no such file'],
  ])('reports %s', (_, text, problem) => {
    expect(linked('README.md', text)).toEqual([expect.stringContaining(problem)]);
  });

  it('looks at links of Markdown files only', () => {
    expect(linked('libs/a/src/a.ts', 'const a = b[0](c);')).toEqual([]);
  });
});

describe('contracts outside of the repository', () => {
  it.each([
    ['one line', `/** ${API} contract, pass order */`, 1],
    ['two lines of a comment', `/**\n * The ${E2B}\n * contract says so.\n */`, 2],
    ['a comment of a chart', `# ${API} contract, ports`, 1],
    ['longer words', `// ${E2B} wire contract 3.2`, 1],
  ])('are reported in %s', (_, text, line) => {
    expect(listOutsideContracts(checkoutWith({ 'a.ts': text }))).toEqual([
      { path: 'a.ts', line, problem: expect.stringContaining('not in the repository') as string },
    ]);
  });

  it('are not reported where the words mean something else', () => {
    expect(listOutsideContracts(checkoutWith({ 'a.ts': '// the contract of this function' }))).toEqual([]);
  });
});

describe('Markdown', () => {
  it('makes anchors as GitHub does', () => {
    const text = '# The `main` *file*\n## Names & hashes\n## Names & hashes\n### [A link](x.md)!\n<a id="own"></a>\n';
    const anchors = ['the-main-file', 'names--hashes', 'names--hashes-1', 'a-link', 'own'];
    expect([...getAnchors(text)]).toEqual(anchors);
  });

  it('takes no heading from fenced code', () => {
    expect([...getAnchors('~~~sh\n# one\n~~~\n# two\n')]).toEqual(['two']);
  });

  it('finds several links of a line', () => {
    expect(listLinks('\n[a](b.md), [c](d.md#e)').map(({ target, line }) => `${line} ${target}`)).toEqual([
      '2 b.md',
      '2 d.md#e',
    ]);
  });
});

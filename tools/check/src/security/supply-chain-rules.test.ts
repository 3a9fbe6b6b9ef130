import { expect, it } from 'vitest';
import { findSupplyChainProblems } from './supply-chain-rules.ts';
import type { LockedPackage, SupplyChain } from './supply-chain-rules.ts';

const GOOD = { version: '1.2.3', integrity: 'sha512-abc', license: 'MIT' } as const;

/** The packages that may ship twice, in two versions each: a list that is out of date is a problem, too. */
const TWICE = Object.fromEntries(
  ['content-type', 'ipaddr.js', 'mime-types', '@types/node', 'undici-types'].flatMap((name) => [
    [`node_modules/${name}`, GOOD],
    [`services/a/node_modules/${name}`, { ...GOOD, version: '2.0.0' }],
  ]),
);
const DEPENDENCIES = Object.fromEntries(
  Object.keys(TWICE).map((path) => [path.replace(/^.*node_modules\//, ''), '1.2.3']),
);

/** A service `a` that depends on library `@sandlot/b`, which depends on these packages. */
function buildChain(more: Readonly<Record<string, LockedPackage>> = {}, rest: Partial<SupplyChain> = {}): SupplyChain {
  const wanted = Object.keys(more).map((path) => [path.replace(/^.*node_modules\//, ''), '1.2.3'] as const);
  return {
    packages: {
      '': { devDependencies: { tool: '3.0.0', typescript: 'npm:@typescript/other@6.0.2' } },
      'services/a': { dependencies: { ...DEPENDENCIES, '@sandlot/b': '*' } },
      'node_modules/@sandlot/b': { link: true, resolved: 'libs/b' },
      'libs/b': { dependencies: { ...DEPENDENCIES, ...Object.fromEntries(wanted) } },
      'node_modules/tool': { ...GOOD, license: 'GPL-3.0' },
      ...TWICE,
      ...more,
    },
    allowScripts: { node: true },
    modules: {},
    requirements: {},
    ...rest,
  };
}

it('accepts locked packages with open licences, and any licence of a tool that does not ship', () => {
  expect(findSupplyChainProblems(buildChain({ 'node_modules/node': { ...GOOD, hasInstallScript: true } }))).toEqual([]);
});

it.each<[string, Readonly<Record<string, LockedPackage>>, string]>([
  ['a package without a digest', { 'node_modules/x': { ...GOOD, integrity: undefined } }, 'has no SHA-512 digest'],
  ['a weak digest', { 'node_modules/x': { ...GOOD, integrity: 'sha1-abc' } }, 'has no SHA-512 digest'],
  ['a script at the installation', { 'node_modules/x': { ...GOOD, hasInstallScript: true } }, 'runs a script'],
  ['a licence that is not in the list', { 'node_modules/x': { ...GOOD, license: 'AGPL-3.0' } }, 'licence "AGPL-3.0"'],
  ['a package without a licence', { 'node_modules/x': { ...GOOD, license: undefined } }, 'licence "none"'],
  [
    'a licence of what an image has beside the services',
    { 'tools/mcp-gateway': { dependencies: { tool: '1.2.3' } } },
    'node_modules/tool ships with licence "GPL-3.0"',
  ],
  ['a range of versions', { 'libs/c': { dependencies: { y: '^1.0.0' } } }, 'libs/c: y "^1.0.0" is no exact version'],
  [
    'a package that ships twice',
    {
      'node_modules/x': GOOD,
      'libs/b/node_modules/x': { ...GOOD, version: '2.0.0' },
      'services/a': { dependencies: { ...DEPENDENCIES, '@sandlot/b': '*', x: '1.2.3' } },
    },
    'x ships in several major versions: 1 and 2',
  ],
])('reports %s', (_, packages, problem) => {
  expect(findSupplyChainProblems(buildChain(packages))).toEqual([expect.stringContaining(problem)]);
});

it('reports an exception that is no longer needed', () => {
  const { 'services/a/node_modules/ipaddr.js': old, ...packages } = buildChain().packages;
  expect(old).toBeDefined();
  expect(findSupplyChainProblems({ ...buildChain(), packages })).toEqual([
    'ipaddr.js no longer ships twice; delete it from TWICE in supply-chain-rules.ts',
  ]);
});

it('reports a Go module whose checksum is missing', () => {
  const mod = 'module a\n\nrequire (\n\texample.com/x v1.0.0\n\texample.com/y v1.0.0 // indirect\n)\n';
  const sum = 'example.com/x v1.0.0 h1:abc=\nexample.com/x v1.0.0/go.mod h1:abc=\n';
  expect(findSupplyChainProblems(buildChain({}, { modules: { runtime: { mod, sum } } }))).toEqual([
    'runtime/go.sum has no checksum of example.com/y v1.0.0; run go mod tidy there',
  ]);
});

const HASH = `--hash=sha256:${'a'.repeat(64)}`;

it('accepts requirements of pip with a version and hashes', () => {
  const text = `# What is installed.\nx==1.0 \\\n    ${HASH} \\\n    ${HASH}\ny[extra]==2.0rc1 ; python_version < "4" ${HASH} # why\n`;
  expect(findSupplyChainProblems(buildChain({}, { requirements: { 'a/requirements.txt': text } }))).toEqual([]);
});

it.each([
  ['no hash', 'x==1.0'],
  ['no version', `x ${HASH}`],
  ['a range of versions', `x>=1.0 ${HASH}`],
  ['any version of a series', `x==1.* ${HASH}`],
  ['two versions', `x==1.0,!=2 ${HASH}`],
  ['a weak hash', `x==1.0 --hash=md5:${'a'.repeat(32)}`],
  ['a hash that is cut off', 'x==1.0 --hash=sha256:aaaa'],
  ['a hash in a comment', `x==1.0 # ${HASH}`],
  ['an address', 'x@https://example.com/x.whl'],
  ['an index of its own', '--index-url=https://example.com'],
  ['another file', '-r other.txt'],
])('reports a requirement of pip with %s', (_, text) => {
  expect(findSupplyChainProblems(buildChain({}, { requirements: { 'a/requirements.txt': `${text}\n` } }))).toEqual([
    expect.stringMatching(/^a\/requirements.txt: ".*" has no exact version with SHA-256 hashes; lock it again$/),
  ]);
});

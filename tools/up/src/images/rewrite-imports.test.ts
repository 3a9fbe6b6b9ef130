import { describe, expect, it } from 'vitest';
import { importer, rewriteImports } from '../../../../images/code-interpreter/javascript/imports.mjs';

const call = (source: string, more = ''): string => `await ${importer}('${source}'${more})`;

describe('rewriteImports', () => {
  it.each([
    ['a default', "import a from 'm'", `const { default: a } = ${call('m')};`],
    ['names', "import { a, b as c, 'd-e' as f } from 'm'", `const { a: a, b: c, 'd-e': f } = ${call('m')};`],
    ['a namespace', "import * as all from 'm'", `const all = ${call('m')};`],
    ['a default and a namespace', "import a, * as all from 'm'", `const all = ${call('m')}, { default: a } = all;`],
    ['no name', "import 'm'", `${call('m')};`],
    [
      'attributes',
      "import a from 'm' with { type: 'json' }",
      `const { default: a } = ${call('m', ", { with: { type: 'json' } }")};`,
    ],
    ['several lines', "import {\n  a,\n} from 'm';\na", `const { a: a } = ${call('m')};\n\n\na`],
  ])('turns a declaration with %s into an awaited call', (...[, code, expected]) => {
    expect(rewriteImports(code)).toBe(expected);
  });

  it('turns calls of import() wherever they are', () => {
    expect(rewriteImports("const f = async () => [await import('a'), `${await import('b')}`]")).toBe(
      `const f = async () => [await ${importer}('a'), \`\${await ${importer}('b')}\`]`,
    );
  });

  it.each([
    ['text that looks like an import', "'import a from m' // import b from 'm'"],
    ['code that is no module', 'with (Math) floor(2)'],
    ['code with an error', "import a from; import 'm'"],
    ['no import', 'const a = 1\na'],
  ])('leaves %s as it is', (...[, code]) => {
    expect(rewriteImports(code)).toBe(code);
  });
});

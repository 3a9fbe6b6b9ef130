import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../errors/api-error.ts';
import { parseInput } from '../../http/parse.ts';
import { listRuleSecrets, networkRules, readHeaderRules } from './header-rules.ts';
import type { GivenRule } from './header-rules.ts';

const build = (host: string, headers: object) => ({ [host]: [{ transform: { headers } }] });
const read = (rules: unknown): readonly GivenRule[] => readHeaderRules(parseInput(networkRules, rules, 'rules'));
const many = (count: number, name: (index: number) => string, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), value]));

/** Headers with markers for 34 secrets. */
const THIRTY_FOUR = Object.fromEntries(
  Array.from({ length: 17 }, (_, index) => [`X-${index}`, `\${e2b.secrets.a${index}}\${e2b.secrets.b${index}}`]),
);

/** The message of the refusal. */
function readProblem(rules: unknown): string {
  try {
    read(rules);
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return error.message;
    throw error;
  }
  throw new Error('the rules were accepted');
}

describe('header rules of a request', () => {
  it('have hosts in normal form, and headers as they are written', () => {
    const headers = { Authorization: 'Bearer ${e2b.secrets.Key}', 'x-team': 'a' };
    expect(read({ ...build('API.Example.com.', headers), ...build('*.example.org', {}) })).toEqual([
      { host: 'api.example.com', headers: Object.entries(headers) },
      { host: '*.example.org', headers: [] },
    ]);
    expect(readHeaderRules(null)).toEqual([]);
  });

  it('name secrets in lower case, each once, and in both spellings', () => {
    const rules = read(
      build('a.example', { A: '${e2b.secrets.Key}-${sandlot.secrets.key}', B: '${e2b.secrets.other}' }),
    );
    expect(listRuleSecrets(rules)).toEqual(['key', 'other']);
  });

  it.each<readonly [string, unknown, string]>([
    [
      'two rules of a host',
      { 'a.example': [{ transform: { headers: {} } }, { transform: { headers: {} } }] },
      '"a.example": expected exactly one rule, got 2',
    ],
    ['a host without a rule', { 'a.example': [] }, '"a.example": expected exactly one rule, got 0'],
    [
      'a host in two spellings',
      { ...build('a.example', {}), ...build('A.example', {}) },
      'host "a.example" has two rules',
    ],
    ['more hosts than ten', many(11, (index) => `h${index}.example`, [{ transform: { headers: {} } }]), '<=10 items'],
    [
      'a host that is never let through',
      build('Kubernetes.default.svc', {}),
      '"Kubernetes.default.svc": is no name such as example.com or *.example.com: names that end in svc are never let through',
    ],
    ['a long host', build(`${'a.'.repeat(64)}example`, {}), 'is no name such as example.com'],
    ...['*', '*:443', 'a.example:443', '1.2.3.4', 'example', 'https://a.example', ''].map(
      (host) =>
        [`the host ${host}`, build(host, {}), `${JSON.stringify(host)}: is no name such as example.com`] as const,
    ),
    [
      'more headers than 20',
      build(
        'a.example',
        many(21, (index) => `X-${index}`, 'v'),
      ),
      '"a.example": Too big',
    ],
    ['a header in two spellings', build('a.example', { 'X-Key': 'a', x_key: 'b' }), 'two headers x-key'],
    [
      'a header of the proxy',
      build('a.example', { Host: 'b.example' }),
      'header "Host" is set by the proxy or the client',
    ],
    ['a long value', build('a.example', { A: 'v'.repeat(2_049) }), '"a.example": header "A" Too big'],
    ['an end of line', build('a.example', { A: 'v\r\nB: w' }), 'header "A" has other characters than visible ASCII'],
    ['other letters', build('a.example', { A: 'vä' }), 'header "A" has other characters than visible ASCII'],
    ['methods', { 'a.example': [{ transform: { headers: {} }, methods: ['GET'] }] }, 'Unrecognized key: "methods"'],
    [
      'a transform of something else',
      { 'a.example': [{ transform: { headers: {}, query: {} } }] },
      'Unrecognized key: "query"',
    ],
    ['a value that is no text', build('a.example', { A: 7 }), 'a.example.0.transform.headers.A: Invalid input'],
    ['an identity', build('a.example', { A: '${e2b.identity.tokens.x}' }), 'header "A" asks for an identity'],
    [
      'a marker of something else',
      build('a.example', { A: '${e2b.other.x}' }),
      'header "A" has a marker that is not ${e2b.secrets.NAME}',
    ],
    ['a marker with an odd name', build('a.example', { A: '${e2b.secrets.a b}' }), 'header "A" has a marker'],
    ['a marker without an end', build('a.example', { A: '${e2b.secrets.key' }), 'header "A" has a marker'],
    ['more secrets of a host than 32', build('a.example', THIRTY_FOUR), 'expected at most 32 secrets, got 34'],
  ])('with %s are refused', (_what, rules, problem) => {
    expect(readProblem(rules)).toContain(problem);
  });

  it.each(['${e2b.secrets.key}', 'Bearer hunter2', 'X-Key: hunter2', 'a\nb', 'ä', '', 'x'.repeat(65)])(
    'with the header name %j are refused without repeating it',
    (name) => {
      const problem = readProblem(build('a.example', { A: 'v', [name]: 'v' }));
      expect(problem).toMatch(/^network\.rules: "a\.example": header number 2 /);
      if (name !== '' && name !== 'ä') expect(problem).not.toContain(name);
    },
  );

  it('are refused without a word of any value', () => {
    const secret = 'hunter2-9f1c';
    const value = fc
      .tuple(
        fc.string({ unit: 'binary', maxLength: 20 }),
        fc.constantFrom('${e2b.', '${e2b.identity.x}', '\n', 'ä', ''),
      )
      .map(([text, rest]) => secret + text + rest);
    const headers = fc.dictionary(fc.constantFrom('Host', 'A', 'a', 'B C', 'x_y', 'X-Y'), value);
    const rule = fc.record({ transform: fc.record({ headers }) });
    const rules = fc.dictionary(
      fc.constantFrom('a.example', '*', 'A.example', 'b', '*.c.example'),
      fc.array(rule, { maxLength: 2 }),
    );
    fc.assert(
      fc.property(rules, (given) => {
        try {
          read(given);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
          expect(String(error)).not.toContain(secret);
        }
      }),
    );
  });
});

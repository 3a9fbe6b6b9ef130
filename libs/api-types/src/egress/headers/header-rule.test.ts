import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coversHost, findOverlap, findRuleHost, getHeaderSource, headerRules } from './header-rule.ts';
import type { HeaderRuleSpec } from './header-rule.ts';

const read = (...rules: readonly HeaderRuleSpec[]) => headerRules.safeParse(rules);
const rule = (host: string) => ({ host, methods: [], paths: [], headers: [] });
const header = (fields: object) => ({ host: 'api.example.com', headers: [{ name: 'Authorization', ...fields }] });

describe('a set of rules', () => {
  it('has normalised hosts, and empty lists where nothing is said', () => {
    expect(read({ host: 'API.Example.com.' }).data).toEqual([rule('api.example.com')]);
  });

  it.each([
    ['a host that is an address', { host: '192.0.2.1' }],
    ['a host that is every name', { host: '*' }],
    ['a host with a port', { host: 'example.com:443' }],
    ['a host of one label', { host: 'localhost' }],
    ['a method in lower case', { host: 'example.com', methods: ['get'] }],
    ['a path that is none', { host: 'example.com', paths: ['v1'] }],
    ['a field that does not exist', { host: 'example.com', body: 'x' } as HeaderRuleSpec],
    ['a header without a value', header({})],
    ['a header with two sources', header({ value: 'x', stored: 'h-a-0' })],
    ['a format without a Secret', header({ value: 'x', format: 'Bearer {}' })],
    ['a format without a place', header({ valueFrom: { secretKeyRef: { name: 's', key: 'k' } }, format: 'Bearer' })],
    ['a value with a line feed', header({ value: 'a\nX: b' })],
    ['a header that says where a message ends', { host: 'a.b', headers: [{ name: 'Content_Length', value: '1' }] }],
    ['a header that says who the client is', { host: 'a.b', headers: [{ name: 'x-forwarded-for', value: '1' }] }],
    ['a header that is none', { host: 'a.b', headers: [{ name: 'A: b', value: '1' }] }],
  ])('does not have %s', (_what, given) => {
    expect(read(given).success).toBe(false);
  });

  it('has each host once, and each header once however servers spell it', () => {
    expect(read({ host: 'a.b' }, { host: 'A.b' }).success).toBe(false);
    const headers = [
      { name: 'X-Key', value: '1' },
      { name: 'x_key', value: '2' },
    ];
    expect(read({ host: 'a.b', headers }).success).toBe(false);
  });
});

it('says where the value of a header comes from', () => {
  const secretKeyRef = { name: 's', key: 'k' };
  expect(getHeaderSource({ name: 'A', value: 'x' })).toEqual({ kind: 'text', text: 'x' });
  expect(getHeaderSource({ name: 'A', stored: 'h-a-0' })).toEqual({ kind: 'stored', key: 'h-a-0' });
  expect(getHeaderSource({ name: 'A', valueFrom: { secretKeyRef } })).toEqual({
    kind: 'secret',
    ...secretKeyRef,
    format: '{}',
  });
});

describe('hosts of a pattern', () => {
  it.each([
    ['example.com', 'example.com', true],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', '*.b.example.com', true],
    ['*.example.com', '*.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.b.example.com', '*.example.com', false],
    ['*.example.com', 'a.notexample.com', false],
    ['a.example.com', '*.example.com', false],
  ])('%s has all of %s: %s', (wide, host, expected) => {
    expect(coversHost(wide, host)).toBe(expected);
  });

  it('overlap when some host belongs to both', () => {
    expect(findOverlap([rule('x.y'), rule('a.example.com')], [rule('*.example.com')])?.host).toBe('a.example.com');
    expect(findOverlap([rule('*.example.com')], [rule('a.example.com')])?.host).toBe('*.example.com');
    expect(findOverlap([rule('example.com')], [rule('*.example.com')])).toBeUndefined();
  });

  it('are the same however often they are normalised', () => {
    const name = fc.array(fc.stringMatching(/^[a-z][a-z0-9-]{0,5}$/u), { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(name, fc.boolean(), (labels, isWild) => {
        const once = findRuleHost(`${isWild ? '*.' : ''}${labels.join('.')}`);
        expect(once === undefined ? undefined : findRuleHost(once)).toBe(once);
      }),
    );
  });
});

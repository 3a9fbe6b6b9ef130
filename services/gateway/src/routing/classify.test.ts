import type { IncomingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAddressRule } from '../access/address.ts';
import { classify, classifyRouter, hostName } from './classify.ts';
import type { Route } from './classify.ts';
import { isControlPath, isHealthCheck, targetOf } from './paths.ts';

const options = { domains: new Set(['sandbox.test', 'other.test']), maxTimeoutMs: 60_000 };
const ID = 'k3x9v0c2m4q8r1t7z5ab';

function told(route: Route): string {
  switch (route.kind) {
    case 'sandbox':
      return `${route.via} ${route.id}:${route.port}`;
    case 'router':
      return `router ${route.namespace}/${route.name}:${route.port} ${route.timeoutMs}`;
    case 'malformed':
      return `malformed ${route.dialect}`;
    case 'control':
      return 'control';
  }
}

const e2b = { 'e2b-sandbox-id': ID, 'e2b-sandbox-port': '49983' };

describe('where a request goes', () => {
  const rows: readonly (readonly [string, string | undefined, IncomingHttpHeaders, string])[] = [
    ['a host of a sandbox', `8080-${ID}.sandbox.test`, {}, `host ${ID}:8080`],
    ['the same with a port', `8080-${ID}.sandbox.test:8443`, {}, `host ${ID}:8080`],
    ['the same in capitals, with the dot of the root', `8080-${ID.toUpperCase()}.Sandbox.TEST.`, {}, `host ${ID}:8080`],
    ['another domain of ours', `0-${ID}.other.test`, {}, `host ${ID}:0`],
    ['a host wins over headers', `80-abc.sandbox.test`, { ...e2b, 'x-sandbox-id': 'x' }, 'host abc:80'],
    ['a domain that is not ours', `8080-${ID}.evil.test`, {}, 'control'],
    ['a domain below ours', `8080-${ID}.x.sandbox.test`, {}, 'control'],
    ['a domain above ours', `8080-${ID}.test`, {}, 'control'],
    ['a port beyond the last', `65536-${ID}.sandbox.test`, {}, 'malformed e2b'],
    ['a port of six digits', `123456-${ID}.sandbox.test`, {}, 'malformed e2b'],
    ['an id with a hyphen', '80-a-b.sandbox.test', {}, 'malformed e2b'],
    ['no id', '80-.sandbox.test', {}, 'malformed e2b'],
    ['an id that is too long', `80-${'a'.repeat(58)}.sandbox.test`, {}, 'malformed e2b'],
    ['the host of the API', 'api.sandbox.test', {}, 'control'],
    ['the host of the API with headers', 'sandbox.sandbox.test', e2b, `headers ${ID}:49983`],
    ['headers of E2B on any host', '127.0.0.1:8080', e2b, `headers ${ID}:49983`],
    ['only one header of E2B', 'localhost', { 'e2b-sandbox-id': ID }, 'malformed e2b'],
    ['only the other header of E2B', 'localhost', { 'e2b-sandbox-port': '80' }, 'malformed e2b'],
    ['an id in capitals', 'localhost', { ...e2b, 'e2b-sandbox-id': ID.toUpperCase() }, 'malformed e2b'],
    ['a header that came twice', 'localhost', { ...e2b, 'e2b-sandbox-id': `${ID}, ${ID}` }, 'malformed e2b'],
    ['a port that is no number', 'localhost', { ...e2b, 'e2b-sandbox-port': '0x50' }, 'malformed e2b'],
    [
      'headers of E2B win over those of agent-sandbox',
      'localhost',
      { ...e2b, 'x-sandbox-id': 'x' },
      `headers ${ID}:49983`,
    ],
    ['headers of agent-sandbox', 'localhost', { 'x-sandbox-id': 'pool-1' }, 'router default/pool-1:8888 60000'],
    [
      'all of them',
      'localhost',
      { 'x-sandbox-id': 'a', 'x-sandbox-namespace': 'b', 'x-sandbox-port': '1', 'x-sandbox-timeout': '1.5' },
      'router b/a:1 1500',
    ],
    ['a name that is no label', 'localhost', { 'x-sandbox-id': '../x' }, 'malformed router'],
    ['a namespace that is none', 'localhost', { 'x-sandbox-id': 'a', 'x-sandbox-namespace': 'B' }, 'malformed router'],
    ['port 0', 'localhost', { 'x-sandbox-id': 'a', 'x-sandbox-port': '0' }, 'malformed router'],
    ['no time at all', 'localhost', { 'x-sandbox-id': 'a', 'x-sandbox-timeout': '0' }, 'malformed router'],
    ['a time that is none', 'localhost', { 'x-sandbox-id': 'a', 'x-sandbox-timeout': 'NaN' }, 'malformed router'],
    ['nothing', undefined, {}, 'control'],
  ];
  it.each(rows)('%s', (...[, host, headers, expected]) => {
    expect(told(classify({ host, headers }, options))).toBe(expected);
  });

  it('is a sandbox by name, or nowhere, on the port of the router', () => {
    expect(told(classifyRouter({ host: `80-${ID}.sandbox.test`, headers: e2b }, options))).toBe('malformed router');
    expect(told(classifyRouter({ host: 'x', headers: { 'x-sandbox-id': 'a' } }, options))).toMatch(
      /^router default\/a/,
    );
  });

  it('never throws, and what it calls a sandbox has an id and a port, whatever comes', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^[0-9]{0,7}-[a-z0-9.-]{0,70}$/),
    );
    const names = [
      'e2b-sandbox-id',
      'e2b-sandbox-port',
      'x-sandbox-id',
      'x-sandbox-namespace',
      'x-sandbox-port',
      'x-sandbox-timeout',
    ];
    const headers = fc.dictionary(fc.constantFrom(...names), text);
    const host = fc.oneof(
      text,
      text.map((label) => `${label}.sandbox.test`),
    );
    fc.assert(
      fc.property(host, headers, (given, all) => {
        const route = classify({ host: given, headers: all }, options);
        if (route.kind === 'sandbox') expect(`${route.port}-${route.id}`).toMatch(/^\d{1,5}-[a-z0-9]{1,57}$/);
        if (route.kind === 'router')
          expect(`${route.namespace} ${route.name}`).toMatch(/^[-a-z0-9]{1,63} [-a-z0-9]{1,63}$/);
      }),
    );
  });

  it.each([
    ['[::1]:8080', '[::1]'],
    ['[::1]', '[::1]'],
    ['A.b:1', 'a.b'],
    ['', ''],
  ])('compares %j as %j', (host, name) => {
    expect(hostName(host)).toBe(name);
  });
});

const CONTROL = ['init', 'freeze', 'unfreeze', 'collapse', 'fsfreeze', 'fsthaw', 'upgrade', 'sandlot'];

describe('control routes', () => {
  it.each([
    '/init',
    '/init/',
    '/INIT',
    '/init?x=1',
    '//init',
    '/./init',
    '/a/../init',
    '/%69%6e%69%74',
    '/%2569nit',
    '/%2e%2e/init',
    '/files/..%2finit',
    '/files/..%5cinit',
    '\\init',
    '/init;x',
    '/init%3fx',
    '/in%00it',
    '/sandlot/tunnel',
    '/fsthaw#x',
  ])('are known by %s', (path) => {
    expect(isControlPath(path)).toBe(true);
  });

  it.each(['/', '/health', '/files?path=/init', '/process.Process/Start', '/initial', '/a/init', '/%', '/%zz', ''])(
    'are not %s',
    (path) => {
      expect(isControlPath(path)).toBe(false);
    },
  );

  it('are known in every mix of encodings, dots and slashes', () => {
    const encoded = (text: string) =>
      fc
        .array(fc.constantFrom('plain', 'encoded', 'twice', 'upper'), {
          minLength: text.length,
          maxLength: text.length,
        })
        .map((ways) =>
          text
            .split('')
            .map((letter, at) => write(letter, ways[at] ?? 'plain'))
            .join(''),
        );
    const noise = fc.constantFrom('/', '//', '/./', '/x/../', '/%2e/', '/x/%2e%2e/', '/x/..%2f', '/%2f');
    const path = fc
      .tuple(noise, fc.constantFrom(...CONTROL).chain(encoded), fc.constantFrom('', '/', '?a', '/x', ';y'))
      .map((parts) => parts.join(''));
    fc.assert(fc.property(path, (text) => isControlPath(text)));
  });
});

function write(letter: string, way: string): string {
  const hex = letter.charCodeAt(0).toString(16);
  if (way === 'encoded') return `%${hex}`;
  if (way === 'twice') return `%25${hex}`;
  return way === 'upper' ? letter.toUpperCase() : letter;
}

describe('request targets', () => {
  it.each([
    ['/a/../b%2F?c', { path: '/a/../b%2F?c', authority: undefined }],
    ['*', { path: '*', authority: undefined }],
    ['http://host:1/x?y', { path: '/x?y', authority: 'host:1' }],
    ['http://host', { path: '/', authority: 'host' }],
    ['http://host?x', { path: '/?x', authority: 'host' }],
    ['http://', undefined],
    ['x', undefined],
  ])('%s', (url, target) => {
    expect(targetOf(url)).toEqual(target);
  });

  it('never throw', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (url) => (targetOf(url)?.path.length ?? 1) > 0));
  });

  it.each([
    ['GET', 49_983, '/health', true],
    ['GET', 49_983, '/health?x', true],
    ['HEAD', 49_999, '/health', true],
    ['GET', 8_888, '/', true],
    ['POST', 49_983, '/health', false],
    ['GET', 3_000, '/health', false],
    ['GET', 49_983, '/healthy', false],
  ])('that are probes: %s to %i of %s: %s', (...[method, port, path, expected]) => {
    expect(isHealthCheck(method, port, path)).toBe(expected);
  });
});

describe('addresses', () => {
  it.each([
    ['10.0.0.1', true],
    ['192.168.1.1', true],
    ['fd00::1', true],
    ['2001:db8::1', true],
    ['127.0.0.1', false],
    ['0.0.0.0', false],
    ['169.254.169.254', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['::', false],
    ['::1', false],
    ['fe80::1', false],
    ['ff02::1', false],
    ['::ffff:10.0.0.1', false],
    ['64:ff9b::a00:1', false],
    ['localhost', false],
    ['', false],
  ])('%s may be dialled: %s', (address, expected) => {
    expect(createAddressRule([])(address)).toBe(expected);
  });

  it('that tests need are allowed by name only', () => {
    expect(['127.0.0.1', '::1'].map(createAddressRule(['127.0.0.0/8']))).toEqual([true, false]);
    expect(() => createAddressRule(['localhost'])).toThrow('localhost is no network');
  });
});

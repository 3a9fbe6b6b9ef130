import type { IncomingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classify, classifyRouter, parseHostName } from './classify.ts';
import type { Route } from './classify.ts';

const options = { domains: new Set(['sandbox.test', 'other.test']), maxTimeoutMs: 60_000 };
const ID = 'k3x9v0c2m4q8r1t7z5ab';

function formatText(route: Route): string {
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

describe('classify', () => {
  const rows: readonly (readonly [string, string | undefined, IncomingHttpHeaders, string])[] = [
    ['the host of a sandbox', `8080-${ID}.sandbox.test`, {}, `host ${ID}:8080`],
    ['the same with a port', `8080-${ID}.sandbox.test:8443`, {}, `host ${ID}:8080`],
    ['the same in capitals with a final dot', `8080-${ID.toUpperCase()}.Sandbox.TEST.`, {}, `host ${ID}:8080`],
    ['another domain of ours', `0-${ID}.other.test`, {}, `host ${ID}:0`],
    [
      'the host of a sandbox beside routing headers',
      `80-abc.sandbox.test`,
      { ...e2b, 'x-sandbox-id': 'x' },
      'host abc:80',
    ],
    ['a domain that is not ours', `8080-${ID}.evil.test`, {}, 'control'],
    ['a domain below ours', `8080-${ID}.x.sandbox.test`, {}, 'control'],
    ['a domain above ours', `8080-${ID}.test`, {}, 'control'],
    ['a port above 65535', `65536-${ID}.sandbox.test`, {}, 'malformed e2b'],
    ['a port of six digits', `123456-${ID}.sandbox.test`, {}, 'malformed e2b'],
    ['an id with a hyphen', '80-a-b.sandbox.test', {}, 'malformed e2b'],
    ['no id', '80-.sandbox.test', {}, 'malformed e2b'],
    ['an id that is too long', `80-${'a'.repeat(58)}.sandbox.test`, {}, 'malformed e2b'],
    ['the host of the API', 'api.sandbox.test', {}, 'control'],
    ['the host of the API with headers', 'sandbox.sandbox.test', e2b, `headers ${ID}:49983`],
    ['E2B headers on any host', '127.0.0.1:8080', e2b, `headers ${ID}:49983`],
    ['E2b-Sandbox-Id alone', 'localhost', { 'e2b-sandbox-id': ID }, 'malformed e2b'],
    ['E2b-Sandbox-Port alone', 'localhost', { 'e2b-sandbox-port': '80' }, 'malformed e2b'],
    ['an id in capitals', 'localhost', { ...e2b, 'e2b-sandbox-id': ID.toUpperCase() }, 'malformed e2b'],
    ['a header given twice', 'localhost', { ...e2b, 'e2b-sandbox-id': `${ID}, ${ID}` }, 'malformed e2b'],
    ['a port in hex', 'localhost', { ...e2b, 'e2b-sandbox-port': '0x50' }, 'malformed e2b'],
    ['E2B headers beside agent-sandbox headers', 'localhost', { ...e2b, 'x-sandbox-id': 'x' }, `headers ${ID}:49983`],
    ['X-Sandbox-ID alone', 'localhost', { 'x-sandbox-id': 'pool-1' }, 'router default/pool-1:8888 60000'],
    [
      'all agent-sandbox headers',
      'localhost',
      { 'x-sandbox-id': 'a', 'x-sandbox-namespace': 'b', 'x-sandbox-port': '1', 'x-sandbox-timeout': '1.5' },
      'router b/a:1 1500',
    ],
    ['a sandbox name that is no DNS label', 'localhost', { 'x-sandbox-id': '../x' }, 'malformed router'],
    [
      'a namespace that is no DNS label',
      'localhost',
      { 'x-sandbox-id': 'a', 'x-sandbox-namespace': 'B' },
      'malformed router',
    ],
    ['port 0', 'localhost', { 'x-sandbox-id': 'a', 'x-sandbox-port': '0' }, 'malformed router'],
    ['a timeout of 0', 'localhost', { 'x-sandbox-id': 'a', 'x-sandbox-timeout': '0' }, 'malformed router'],
    [
      'a timeout that is no number',
      'localhost',
      { 'x-sandbox-id': 'a', 'x-sandbox-timeout': 'NaN' },
      'malformed router',
    ],
    ['no host and no headers', undefined, {}, 'control'],
  ];
  it.each(rows)('classifies %s', (...[, host, headers, expected]) => {
    expect(formatText(classify({ host, headers }, options))).toBe(expected);
  });

  it('accepts only agent-sandbox headers on the router port', () => {
    expect(formatText(classifyRouter({ host: `80-${ID}.sandbox.test`, headers: e2b }, options))).toBe(
      'malformed router',
    );
    expect(formatText(classifyRouter({ host: 'x', headers: { 'x-sandbox-id': 'a' } }, options))).toMatch(
      /^router default\/a/,
    );
  });

  it('never throws, and every sandbox route has a valid id and port', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^[0-9]{0,7}-[a-z0-9.-]{0,70}$/),
      fc.stringMatching(/^[0-9]{5}-[a-z0-9]{1,60}$/),
      fc.stringMatching(/^[0-9]{5}$/),
      fc.stringMatching(/^[a-z0-9]{1,60}$/),
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
    const kinds = new Set<string>();
    fc.assert(
      fc.property(host, headers, (given, all) => {
        const route = classify({ host: given, headers: all }, options);
        kinds.add(route.kind);
        if (route.kind === 'sandbox') expect(`${route.port}-${route.id}`).toMatch(/^\d{1,5}-[a-z0-9]{1,57}$/);
        if (route.kind === 'router')
          expect(`${route.namespace} ${route.name}`).toMatch(/^[-a-z0-9]{1,63} [-a-z0-9]{1,63}$/);
        if ('port' in route) expect(route.port).toBeLessThanOrEqual(65_535);
      }),
      { numRuns: 1_000 },
    );
    expect([...kinds].sort()).toEqual(['control', 'malformed', 'router', 'sandbox']);
  });

  it.each([
    ['[::1]:8080', '[::1]'],
    ['[::1]', '[::1]'],
    ['A.b:1', 'a.b'],
    ['', ''],
  ])('takes from the host %j the name %j', (host, name) => {
    expect(parseHostName(host)).toBe(name);
  });
});

import { describe, expect, it } from 'vitest';
import { requestHeaders } from './headers.ts';
import type { RequestHeaders } from './headers.ts';

const PEER = { address: '192.0.2.7', proto: 'http', host: '8080-abc.sandbox.test', isTrusted: false } as const;

function forward(raw: readonly string[], given: Partial<RequestHeaders> = {}): string[] {
  const at = raw.findIndex((name) => name.toLowerCase() === 'connection');
  const connection = at < 0 ? undefined : raw[at + 1];
  const more = { connection, upgrade: undefined, te: undefined, peer: PEER, host: PEER.host, to: 'sandbox' as const };
  return requestHeaders({ raw, ...more, ...given });
}

/** The values of a header, however it is spelled; servers that follow CGI read `_` as `-`. */
function listValues(sent: readonly string[], name: string): string[] {
  return sent.filter((_, at) => at % 2 === 1 && sent[at - 1]?.toLowerCase().replaceAll('_', '-') === name);
}

const FORGED = [
  'X-Sandlot-Gateway',
  'X-Sandlot-Proof',
  'X-API-Key',
  'E2b-Sandbox-Id',
  'E2b-Traffic-Access-Token',
  'X-Sandbox-ID',
];
const SPELLINGS: readonly [string, (name: string) => string][] = [
  ['as they are', (name) => name],
  ['in capitals', (name) => name.toUpperCase()],
  ['with underscores, which servers that follow CGI read as hyphens', (name) => name.replaceAll('-', '_')],
  ['with some underscores', (name) => name.replace('-', '_')],
];

describe('headers that only the platform may send to a sandbox', () => {
  it.each(SPELLINGS)('do not pass %s', (_, spell) => {
    const sent = forward(FORGED.flatMap((name) => [spell(name), 'forged']));
    for (const name of FORGED) expect(listValues(sent, name.toLowerCase())).toEqual([]);
  });
});

describe('the address of the client', () => {
  it.each(SPELLINGS)('is the one the gateway saw, when the client sends forwarding headers %s', (_, spell) => {
    const names = ['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Real-IP', 'X-Forwarded-Prefix'];
    const sent = forward(names.flatMap((name) => [spell(name), '198.51.100.1']));
    expect(names.map((name) => listValues(sent, name.toLowerCase()))).toEqual([
      ['192.0.2.7'],
      ['8080-abc.sandbox.test'],
      ['http'],
      [],
      [],
    ]);
  });

  it('follows what a trusted proxy says, and not what its client wrote with underscores', () => {
    const raw = ['X-Forwarded-For', '198.51.100.1', 'X_Forwarded_For', '203.0.113.1'];
    expect(listValues(forward(raw, { peer: { ...PEER, isTrusted: true } }), 'x-forwarded-for')).toEqual([
      '198.51.100.1, 192.0.2.7',
    ]);
  });
});

describe('a Connection header', () => {
  it('takes away neither the host nor the length nor what the gateway adds', () => {
    const named = 'Host, Content-Length, Transfer-Encoding, X-Forwarded-For, X-Forwarded-Host, X-Mine';
    const sent = forward(['Connection', named, 'Content-Length', '5', 'X-Mine', 'x', 'Host', 'other']);
    expect(listValues(sent, 'host')).toEqual([PEER.host]);
    expect(listValues(sent, 'content-length')).toEqual(['5']);
    expect(listValues(sent, 'x-forwarded-for')).toEqual(['192.0.2.7']);
    expect(listValues(sent, 'x-forwarded-host')).toEqual([PEER.host]);
    expect([listValues(sent, 'x-mine'), listValues(sent, 'connection')]).toEqual([[], []]);
  });
});

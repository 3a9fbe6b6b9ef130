import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { TokenKeys } from './token-keys.ts';
import { listVolumeHopKeys, signVolumeHop } from './volume-hop.ts';

const NOW = Date.UTC(2026, 0, 1);
const text = (fill: number): string => Buffer.alloc(32, fill).toString('base64');
const first = new TokenKeys({ key: text(1), number: 1 });
const before = new TokenKeys({ key: text(1), number: 1, other: `2:${text(2)}` });
const after = new TokenKeys({ key: text(2), number: 2, other: `1:${text(1)}` });
const last = new TokenKeys({ key: text(2), number: 2 });
const hop = { namespace: 'team-a', method: 'GET', path: '/volumes/x/path?path=%2F' };

function isKnown(signer: TokenKeys, server: TokenKeys): boolean {
  const [, expires = '', signature = ''] = /^Sandlot (\d+)\.([\w-]+)$/.exec(signVolumeHop(signer, hop, NOW)) ?? [];
  const signed = Buffer.from(['sandlot-volumes', hop.namespace, hop.method, hop.path, expires].join('\n'));
  return listVolumeHopKeys(server).some((x) =>
    verify(
      null,
      signed,
      createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
      Buffer.from(signature, 'base64url'),
    ),
  );
}

describe('a signed request to a file server', () => {
  it.each([
    ['without a rotation', first, first],
    ['before the switch, to a server that does not know the next key', before, first],
    ['after the switch, to a server of before', after, first],
    ['to a server that knows both', before, after],
    ['after the rotation', last, last],
  ])('is recognised %s', (_, signer, server) => expect(isKnown(signer, server)).toBe(true));

  it('of another installation is not', () => expect(isKnown(first, last)).toBe(false));

  it('has keys that stay the same at the switch', () => {
    expect(listVolumeHopKeys(before)).toEqual(listVolumeHopKeys(after));
  });
});

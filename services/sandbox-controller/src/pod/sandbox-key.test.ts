import { createPublicKey, createSecretKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { deriveSandboxKey } from './sandbox-key.ts';

const buildSeed = (fill: number): KeyObject => createSecretKey(Buffer.alloc(32, fill));
const UID = '6a2f41a3-c54c-fce8-32d2-0324e1c32e22';

describe('the key of a Sandbox', () => {
  it('is an Ed25519 key, the same in every release', () => {
    const { privateKey, publicKeyHash } = deriveSandboxKey(buildSeed(7), UID);
    const signature = sign(null, Buffer.from('text'), privateKey);
    expect(verify(null, Buffer.from('text'), createPublicKey(privateKey), signature)).toBe(true);
    expect(privateKey.asymmetricKeyType).toBe('ed25519');
    expect(publicKeyHash).toBe('Wp-WAy2IKubJDrF1BWYQYeY73MywtuzPfZgaV9RS0fc');
  });

  it('is another one for another Sandbox and from another seed', () => {
    const keys = [
      deriveSandboxKey(buildSeed(7), UID),
      deriveSandboxKey(buildSeed(7), UID.replace('6', '7')),
      deriveSandboxKey(buildSeed(8), UID),
    ];
    expect(new Set(keys.map(({ publicKeyHash }) => publicKeyHash)).size).toBe(3);
  });

  it('does not print, and neither does the seed', () => {
    const seed = buildSeed(7);
    const key = deriveSandboxKey(seed, UID);
    const { d = '' } = key.privateKey.export({ format: 'jwk' });
    const bytes = Buffer.from(d, 'base64url');
    for (const shown of [inspect([seed, key], { depth: 9, showHidden: true }), JSON.stringify([seed, key])]) {
      for (const form of ['base64', 'base64url', 'hex'] as const) expect(shown).not.toContain(bytes.toString(form));
      expect(shown).not.toContain('0707');
    }
  });
});

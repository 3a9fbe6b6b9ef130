import { Secret } from '@sandlot/config';
import { describe, expect, it } from 'vitest';
import { EgressProofs, readEgressProofs } from './egress-proof.ts';

const [ONE, TWO] = ['a', 'b'].map((letter) => Buffer.from(letter.repeat(32)).toString('base64')) as [string, string];
const holder = { sandboxUid: 's', claimUid: 'c' };

describe('the proof of a sandbox', () => {
  it('differs by sandbox, by claim and by key, and has 32 bytes', () => {
    const proofs = new EgressProofs(ONE);
    const all = [
      proofs.derive(holder),
      proofs.derive({ ...holder, sandboxUid: 'x' }),
      proofs.derive({ ...holder, claimUid: 'x' }),
      new EgressProofs(TWO).derive(holder),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(Buffer.from(all[0] ?? '', 'base64')).toHaveLength(32);
  });

  it('is accepted by either key while the key is rotated, and made by the current one', () => {
    const proofs = new EgressProofs(TWO, `1:${ONE}`);
    expect(proofs.derive(holder)).toBe(new EgressProofs(TWO).derive(holder));
    expect(proofs.deriveAll(holder)).toEqual([TWO, ONE].map((key) => new EgressProofs(key).derive(holder)));
  });

  it('needs a key that cannot be guessed', () => {
    expect(() => new EgressProofs('c2hvcnQ=')).toThrow('at least 32 bytes');
    expect(() => new EgressProofs(ONE, '2:c2hvcnQ=')).toThrow('at least 32 bytes');
  });

  it('does not exist where the installation has no key', () => {
    expect(readEgressProofs({})).toBeUndefined();
    expect(readEgressProofs({ EGRESS_PROOF_KEY: new Secret(ONE) })?.deriveAll(holder)).toHaveLength(1);
  });
});

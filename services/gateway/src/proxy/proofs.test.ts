import { generateKeyPairSync, verify } from 'node:crypto';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { Proofs } from './proofs.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const MINE = { uid: 'uid-1', address: '10.0.0.7' };

function startProofs(key = privateKey) {
  const clock = new FakeClock();
  return { clock, proofs: new Proofs(key, clock) };
}

/** Whether a daemon would take the proof for the sandbox: the text is that of docs/reference/runtime.md. */
function isFor(proof: string | undefined, { uid, address }: typeof MINE): boolean {
  const [ms = '', named = '', signature = ''] = (proof ?? '').split(';');
  const text = `sandlot-gateway-v1\n${uid}\n${address}\n${ms}`;
  return named === address && verify(null, Buffer.from(text), publicKey, Buffer.from(signature, 'base64'));
}

describe('the proof for a daemon that the gateway sends a request', () => {
  it.each([
    ['the sandbox it was made for', MINE, true],
    ['another sandbox, so that a hostile one cannot use what it received', { ...MINE, uid: 'uid-2' }, false],
    [
      'the sandbox at another address, when another pod has taken over the first',
      { ...MINE, address: '10.0.0.8' },
      false,
    ],
  ])('is worth something for %s', (_, sandbox, expected) => {
    const { proofs } = startProofs();
    expect(isFor(proofs.createProver(MINE)(), sandbox)).toBe(expected);
  });

  it('says when it was made, and is made anew after half a minute, not for each request', async () => {
    const { clock, proofs } = startProofs();
    const prove = proofs.createProver(MINE);
    const first = prove();
    expect(first?.split(';')[0]).toBe(String(clock.now()));
    await clock.advance(29_999);
    expect(prove()).toBe(first);
    await clock.advance(1);
    const second = prove();
    expect(second).not.toBe(first);
    expect(isFor(second, MINE)).toBe(true);
  });

  it('does not exist without a key', () => {
    expect(new Proofs(undefined, new FakeClock()).createProver(MINE)()).toBeUndefined();
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  deriveEnvdAccessToken,
  hashApiKey,
  isApiKey,
  createApiKey,
  createSandboxId,
  deriveSandboxId,
  isSameDigest,
  formatTokenSubject,
  deriveTrafficAccessToken,
} from './index.ts';
import { parseTokenKey } from './tokens.ts';

const KEY = Buffer.alloc(32, 7);
const ID = 'k3x9v0c2m4q8r1t7z5ab';
/** Computed by `openssl dgst -sha256 -mac HMAC` for `envd:` and `traffic:` with that id. */
const ENVD = '5ee8738e801e6fce3e7d3a71dcecb90711b21eee985c6cbdb950f85d392e8039';
const TRAFFIC = '6c8122384d9b1155fd68c25836e8558aa3164ee1dff594064af7dd683fbab6f8';

describe('tokens of a sandbox', () => {
  it('are the HMAC of their purpose and subject', () => {
    expect([deriveEnvdAccessToken(KEY, ID), deriveTrafficAccessToken(KEY, ID)]).toEqual([ENVD, TRAFFIC]);
  });

  it.each([
    ['another sandbox', deriveEnvdAccessToken(KEY, `${ID}x`)],
    ['another installation', deriveEnvdAccessToken(Buffer.alloc(32, 8), ID)],
  ])('differ for %s', (_what, other) => {
    expect(other).not.toBe(ENVD);
  });

  const labels = { 'sandlot.dev/sandbox-id': ID };

  it.each([
    ['namespace and id of a claim of the API', { name: ID, labels }, `team-a/${ID}`],
    ['the UID of another claim', { name: 'job' }, 'uid-1'],
    ['the UID of a claim that carries the id of another claim', { name: 'job', labels }, 'uid-1'],
  ])('are for %s', (_what, metadata, subject) => {
    expect(formatTokenSubject({ metadata: { namespace: 'team-a', uid: 'uid-1', ...metadata } })).toBe(subject);
  });

  it('do not exist before the claim exists', () => {
    expect(() => formatTokenSubject({ metadata: { namespace: 'team-a', name: 'job' } })).toThrow(/without UID/);
  });

  it('need a key of 32 bytes', () => {
    expect(parseTokenKey(` ${KEY.toString('base64')}\n`)).toEqual(KEY);
    expect(() => parseTokenKey(Buffer.alloc(31).toString('base64'))).toThrow(/at least 32 bytes/);
  });
});

describe('a sandbox id', () => {
  const bytes = fc.uint8Array({ minLength: 96, maxLength: 96 });

  it('fits a DNS label after a port, starts with a letter and has no hyphen', () => {
    fc.assert(
      fc.property(bytes, (given) => {
        let at = 0;
        expect(createSandboxId((size) => given.subarray(at, (at += size)))).toMatch(/^[a-z][a-z0-9]{19}$/);
      }),
    );
  });

  it('differs each time', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => createSandboxId())).size).toBe(1_000);
  });

  it('is the same for a repeated create of one team, and differs between teams', () => {
    const id = deriveSandboxId(KEY, 'a', 'order-1');
    expect(id).toMatch(/^[a-z][a-z0-9]{19}$/);
    expect(deriveSandboxId(KEY, 'a', 'order-1')).toBe(id);
    expect(deriveSandboxId(KEY, 'b', 'order-1')).not.toBe(id);
    expect(deriveSandboxId(KEY, 'a', 'order-2')).not.toBe(id);
    expect(deriveSandboxId(Buffer.alloc(32, 8), 'a', 'order-1')).not.toBe(id);
  });
});

describe('an API key', () => {
  it('has the form that validating clients accept', () => {
    expect(createApiKey()).toMatch(/^e2b_[0-9a-f]{40}$/);
    expect(isApiKey(createApiKey())).toBe(true);
  });

  it.each(['', 'e2b_', `e2b_${'A'.repeat(40)}`, `e2b_${'0'.repeat(41)}`, `sk_${'0'.repeat(40)}`])(
    'is not %j',
    (text) => {
      expect(isApiKey(text)).toBe(false);
    },
  );

  it('is stored as its SHA-256', () => {
    const key = createApiKey((size) => Buffer.alloc(size, 7));
    expect(hashApiKey(key)).toBe('a7eb79f845c5725faff038f25475edf4504116c14b9074c414e26d83de58f951');
  });
});

describe('comparing digests', () => {
  it.each([
    ['equal ones', 'aa', 'aa', true],
    ['different ones', 'aa', 'ab', false],
    ['one that is longer', 'aa', 'aaaa', false],
    ['nothing', '', '', false],
    ['a text that is no digest', 'zz', 'zz', false],
  ])('takes %s for what they are', (...[, one, other, same]) => {
    expect(isSameDigest(one, other)).toBe(same);
  });
});

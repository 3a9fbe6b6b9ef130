import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { signBody } from './sign.ts';

it('a receiver written for E2B recognises the signature: base64 of the digest, url-safe, without padding', () => {
  const expected = createHash('sha256')
    .update('hush{"a":1}')
    .digest('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
  expect(signBody('hush', '{"a":1}')).toBe(expected);
});

import { describe, expect, it } from 'vitest';
import { TokenKeys } from './token-keys.ts';
import { formatVolumeToken, readVolumeToken } from './volume-token.ts';

const NOW = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;
const text = (fill: number): string => Buffer.alloc(32, fill).toString('base64');
const keys = new TokenKeys({ key: text(1), number: 1 });
const volume = { id: '11111111-2222-3333-4444-555555555555', name: 'data', namespace: 'team-a' };

describe('a token of a volume', () => {
  it('opens that volume for a day', () => {
    const token = formatVolumeToken(keys, volume, NOW);
    expect(readVolumeToken(keys, token, NOW + DAY - 1)).toEqual(volume);
    expect(readVolumeToken(keys, token, NOW + DAY)).toBeUndefined();
  });

  it('counts after a rotation of the key, and not once its key is gone', () => {
    const token = formatVolumeToken(keys, volume, NOW);
    const rotated = new TokenKeys({ key: text(2), number: 2, other: `1:${text(1)}` });
    expect(readVolumeToken(rotated, token, NOW)).toEqual(volume);
    expect(readVolumeToken(new TokenKeys({ key: text(2), number: 2 }), token, NOW)).toBeUndefined();
  });

  it('cannot be made for another volume, by changing it, nor be anything else', () => {
    const token = formatVolumeToken(keys, volume, NOW);
    const [content = '', digest = ''] = token.split('.');
    const other = Buffer.from(Buffer.from(content, 'base64url').toString().replace('team-a', 'team-b'));
    const forged = [
      `${other.toString('base64url')}.${digest}`,
      content,
      `${content}.`,
      `${token}.${digest}`,
      `${token}x`,
      `${content}=.${digest}`,
      `${content}.${'0'.repeat(64)}`,
      '',
      'x'.repeat(100_000),
      `${Buffer.from('[1]').toString('base64url')}.${digest}`,
    ];
    for (const each of forged) expect(readVolumeToken(keys, each, NOW)).toBeUndefined();
  });
});

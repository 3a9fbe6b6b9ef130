import { annotations } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { formatKeyNumber, TokenKeys } from './token-keys.ts';

const [OLD, NEXT, OTHER] = [7, 8, 9].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
const text = (key: Buffer): string => key.toString('base64');
const claim = (number?: string) => ({
  metadata: { annotations: number === undefined ? {} : { [annotations.tokenKey]: number } },
});

const STAGES = {
  before: new TokenKeys({ key: text(OLD), number: 1 }),
  prepared: new TokenKeys({ key: text(OLD), number: 1, other: `2:${text(NEXT)}` }),
  switched: new TokenKeys({ key: text(NEXT), number: 2, other: `1:${text(OLD)}` }),
  finished: new TokenKeys({ key: text(NEXT), number: 2 }),
};

describe('the key of the tokens of a claim', () => {
  const rows: readonly (readonly [made: string, number: string | undefined, keys: readonly Buffer[]])[] = [
    ['of before the switch stays until the end', undefined, [OLD, OLD, OLD, NEXT]],
    ['of after the switch is known before it', '2', [OLD, NEXT, NEXT, NEXT]],
    ['that is gone is the current one', '3', [OLD, OLD, NEXT, NEXT]],
    ['that cannot be read is the current one', '1e0', [OLD, OLD, NEXT, NEXT]],
  ];
  it.each(rows)('%s', (_, number, keys) => {
    expect(Object.values(STAGES).map((stage) => stage.of(claim(number)))).toEqual(keys);
  });

  it('is recorded for all but the first key', () => {
    expect(Object.values(STAGES).map(({ current }) => formatKeyNumber(current.number))).toEqual([
      undefined,
      undefined,
      '2',
      '2',
    ]);
  });
});

it('a repeated create has the same id before and after the switch', () => {
  expect(Object.values(STAGES).map((stage) => stage.ofRepeats)).toEqual([OLD, OLD, OLD, NEXT]);
});

describe('keys are refused', () => {
  it.each([
    ['that have the same number', `1:${text(OTHER)}`, 'another number'],
    ['without a number', text(OTHER), 'NUMBER:BASE64'],
    ['with the number 0', `0:${text(OTHER)}`, 'NUMBER:BASE64'],
    ['that are short', '2:c2hvcnQ=', 'at least 32 bytes'],
  ])('%s', (_, other, message) => {
    expect(() => new TokenKeys({ key: text(OLD), number: 1, other })).toThrow(message);
  });
});

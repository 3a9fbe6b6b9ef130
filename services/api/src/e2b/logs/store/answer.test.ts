import { describe, expect, it } from 'vitest';
import { ForeignStreamError, parseAnswer } from './answer.ts';
import { dropCut } from './log-store.ts';

const WANTED = new Map([
  ['namespace', 'team-a'],
  ['pod', 'box-1'],
]);
const own = { namespace: 'team-a', pod: 'box-1' };
const format = (...result: readonly object[]): string =>
  JSON.stringify({ status: 'success', data: { resultType: 'streams', result } });

describe('an answer of the log store', () => {
  it('has the lines of all streams in the order of time, to the nanosecond', () => {
    const text = format(
      {
        stream: { ...own, stream: 'stderr' },
        values: [
          ['1000000002', 'c'],
          ['1000000000', 'a'],
        ],
      },
      { stream: { ...own, stream: 'stdout' }, values: [['1000000001', 'b', { traceID: 'x' }]] },
    );
    const ms = 1_000;
    expect(parseAnswer(text, WANTED)).toEqual(['a', 'b', 'c'].map((message) => ({ ms, message })));
  });

  it.each([
    ['another namespace', { ...own, namespace: 'team-b' }],
    ['another Pod', { ...own, pod: 'box-2' }],
    ['no namespace', { pod: 'box-1' }],
  ])('with a stream of %s is for no client', (_name, stream) => {
    const text = format(
      { stream: own, values: [['1000000000', 'mine']] },
      { stream, values: [['1000000000', 'theirs']] },
    );
    expect(() => parseAnswer(text, WANTED)).toThrow(ForeignStreamError);
  });

  it.each([
    '',
    '<html>',
    '{}',
    '{"status":"success","data":{"resultType":"matrix","result":[]}}',
    format({ stream: own, values: [['-1', 'x']] }),
  ])('is none as %j', (text) => {
    expect(() => parseAnswer(text, WANTED)).toThrow();
  });

  it('that is no JSON is not quoted', () => {
    expect(() => parseAnswer('secret line', WANTED)).toThrow(/^the answer is no JSON$/);
  });

  it('with a line that is too long has its beginning', () => {
    const [line] = parseAnswer(format({ stream: own, values: [['1000000000', 'x'.repeat(100_000)]] }), WANTED);
    expect(line?.message).toHaveLength(16_384);
  });
});

describe('a full answer of the log store', () => {
  const lines = [1, 2, 2, 3, 3].map((ms, index) => ({ ms, message: `${index}` }));
  const show = (limit: number, direction: 'forward' | 'backward'): string => {
    const { lines: kept, isWhole } = dropCut(lines, { limit, direction });
    return `${kept.map(({ message }) => message).join('')} ${isWhole}`;
  };

  it('leaves out the millisecond in which it ends, and says that there is more', () => {
    expect([show(5, 'forward'), show(5, 'backward')]).toEqual(['012 false', '1234 false']);
    expect(show(6, 'forward')).toBe('01234 true');
    const one = lines.map((line) => ({ ...line, ms: 1 }));
    expect(dropCut(one, { limit: 5, direction: 'forward' })).toEqual({ lines: one, isWhole: false });
  });
});

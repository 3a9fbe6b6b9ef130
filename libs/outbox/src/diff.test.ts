import { describe, expect, it } from 'vitest';
import { diff } from './diff.ts';
import { formatFactName } from './fact.ts';
import type { AnyFact } from './fact.ts';

const data = () => ({ namespace: 'a', name: 'b', uid: 'c', desired: 1, ready: 1, templateHash: 'h' });
const ready = (marker: string): AnyFact => ({ type: 'pool.ready', marker, data });
const started: AnyFact = { type: 'pool.rollout.started', marker: '1', data };
const finished: AnyFact = { type: 'pool.rollout.finished', marker: '1', data, after: formatFactName(started) };

describe('diff', () => {
  it.each([
    ['publishes all facts of an unrecorded object', [], [ready('1')], ['pool.ready/1'], ['pool.ready/1']],
    ['publishes no fact twice', ['pool.ready/1'], [ready('1')], [], ['pool.ready/1']],
    [
      'tells the next occurrence and forgets the last',
      ['pool.ready/1'],
      [ready('2')],
      ['pool.ready/2'],
      ['pool.ready/2'],
    ],
    ['publishes nothing for a fact that no longer holds, and forgets it', ['pool.ready/1'], [], [], []],
    ['publishes no end without a beginning', [], [finished], [], []],
    [
      'has an end after a recorded beginning, which it keeps',
      [formatFactName(started)],
      [finished],
      [formatFactName(finished)],
      [formatFactName(started), formatFactName(finished)],
    ],
    [
      'has an end after a beginning in the same state',
      [],
      [started, finished],
      [formatFactName(started), formatFactName(finished)],
      [formatFactName(started), formatFactName(finished)],
    ],
    [
      'keeps an end whose beginning is forgotten',
      [formatFactName(finished)],
      [finished],
      [],
      [formatFactName(finished)],
    ],
  ] as const)('%s', (...[, facts, now, news, names]) => {
    const found = diff({ facts }, now);
    expect(found.news.map(formatFactName)).toEqual(news);
    expect(found.facts).toEqual(names);
  });

  it('publishes all facts that still hold again after the stream is lost, including ends', () => {
    const { news } = diff({ facts: [formatFactName(started), formatFactName(finished)], again: true }, [
      ready('1'),
      finished,
    ]);
    expect(news.map(formatFactName)).toEqual(['pool.ready/1', formatFactName(finished)]);
  });
});

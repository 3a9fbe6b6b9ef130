import { describe, expect, it } from 'vitest';
import { parseEventsArguments } from './arguments.ts';
import { matchesPattern } from './selection.ts';

describe('parseEventsArguments', () => {
  it('parses every option', () => {
    const args = ['--follow', '--since', '1h30m', '--subject', 'claim.*', '-n', 'team-a', '-o', 'json'];
    expect(parseEventsArguments(args)).toMatchObject({
      kind: 'events',
      follow: true,
      sinceMs: 5_400_000,
      subject: 'claim.*',
      namespace: 'team-a',
      json: true,
    });
  });

  it.each([
    [['nonsense'], '"nonsense" is no command'],
    [['--since', 'yesterday'], '--since takes a duration such as 15m or 1h30m, not "yesterday"'],
    [['--subject', 'claim.>'], `--subject takes types such as 'claim.*' or pool.ready, not "claim.>"`],
    [['-o', 'yaml'], '-o takes text or json, not "yaml"'],
    [['--replay'], '--replay belongs to dead-letters'],
  ])('rejects %j with a message', (args, problem) => {
    expect(() => parseEventsArguments(args)).toThrow(problem);
  });

  it.each([
    ['claim.bound', 'claim.*', true],
    ['pool.rollout.started', 'pool.*', true],
    ['pool.rollout.started', 'pool.rollout.*', true],
    ['pool.ready', '*.ready', true],
    ['sandbox.ready', '*', true],
    ['claim.bound', 'claim.failed', false],
    ['claim.bound', 'claim', false],
    ['pool.ready', 'pool.rollout.*', false],
  ])('tells whether %s matches %s: %s', (type, pattern, expected) => {
    expect(matchesPattern(type, pattern)).toBe(expected);
  });
});

import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { CredentialChecks } from './credential-checks.ts';

const garbage = (checks: CredentialChecks, count: number, sourceOf: (n: number) => string): number =>
  Array.from({ length: count }, (_, n) => checks.take(`garbage-${n}`, sourceOf(n))).filter((one) => one === undefined)
    .length;

describe('checks of credentials', () => {
  it('are refused to a source of garbage, and not to others', () => {
    const checks = new CredentialChecks(new FakeClock());
    expect(garbage(checks, 1_000, () => '192.0.2.1')).toBe(20);
    expect(checks.take('more', '192.0.2.1')).toMatchObject({ kind: 'limited', limit: 'credentials-by-source' });
    expect(checks.take('honest', '198.51.100.1')).toBeUndefined();
  });

  it('of a credential that was valid go on while 1,000 sources send garbage', () => {
    const clock = new FakeClock();
    const checks = new CredentialChecks(clock);
    checks.recordValid('honest');
    expect(garbage(checks, 1_000, (n) => `source-${n}`)).toBe(100);
    expect(checks.take('new', 'other')).toMatchObject({ kind: 'unsure' });
    expect(checks.take('honest', 'source-1')).toBeUndefined();
  });

  it('of one valid credential have a rate, which others do not share', () => {
    const checks = new CredentialChecks(new FakeClock());
    for (const digest of ['greedy', 'honest']) checks.recordValid(digest);
    const taken = Array.from({ length: 100 }, () => checks.take('greedy', 'source'));
    expect(taken.filter((one) => one === undefined)).toHaveLength(50);
    expect(taken.at(-1)).toMatchObject({ kind: 'limited' });
    expect(checks.take('honest', 'source')).toBeUndefined();
  });

  it('forget a credential that was valid more than an hour ago', async () => {
    const clock = new FakeClock();
    const checks = new CredentialChecks(clock);
    checks.recordValid('old');
    await clock.advance(3_600_001);
    garbage(checks, 1_000, (n) => `source-${n}`);
    expect(checks.take('old', 'source')).toMatchObject({ kind: 'unsure' });
  });
});

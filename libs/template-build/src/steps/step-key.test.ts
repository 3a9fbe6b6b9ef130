import { describe, expect, it } from 'vitest';
import { describeBase, describeStep } from './describe.ts';
import type { Step } from './instruction.ts';
import { computeBaseKey, computeStepKeys, countCacheable } from './step-key.ts';

const BASE = computeBaseKey('sha256:1');
const run = (command: string, more: Partial<Step> = {}): Step => ({ type: 'RUN', args: [command], ...more });

describe('the key of a step', () => {
  it('changes with the image, with every step before it, and with what it does', () => {
    const steps = [run('a'), run('b'), run('c')];
    const keys = computeStepKeys(BASE, steps);
    const others = [
      computeStepKeys(computeBaseKey('sha256:2'), steps),
      computeStepKeys(BASE, [run('x'), run('b'), run('c')]),
      computeStepKeys(BASE, [run('a'), run('b', { type: 'WORKDIR' }), run('c')]),
      computeStepKeys(BASE, [run('a'), run('b'), { type: 'RUN', args: ['c', 'root'] }]),
      computeStepKeys(BASE, [run('a'), run('b'), run('c', { filesHash: 'f' })]),
    ];
    for (const other of others) expect(other[2]).not.toBe(keys[2]);
    expect(others[3]?.slice(0, 2)).toEqual(keys.slice(0, 2));
    expect(new Set([BASE, ...keys]).size).toBe(4);
  });

  it('does not depend on force, so that a forced step renews what the cache has', () => {
    expect(computeStepKeys(BASE, [run('a', { force: true })])).toEqual(computeStepKeys(BASE, [run('a')]));
  });

  it('does not mix up arguments', () => {
    const [split] = computeStepKeys(BASE, [{ type: 'RUN', args: ['a', 'b'] }]);
    expect(computeStepKeys(BASE, [{ type: 'RUN', args: ['ab', ''] }])).not.toEqual([split]);
  });

  it('is looked up for the steps before the first one with force', () => {
    const forced = run('b', { force: true });
    expect([[], [run('a')], [run('a'), forced, run('c')], [forced]].map(countCacheable)).toEqual([0, 1, 1, 0]);
  });
});

describe('the log line', () => {
  const key = 'abcdef0123456789';

  it('of the base', () => {
    expect(describeBase('debian:13', key, true)).toBe('CACHED [base] FROM debian:13 [abcdef012345]');
  });

  it.each<[string, Step, string]>([
    ['RUN without its user', { type: 'RUN', args: ['make', 'root'] }, 'RUN make'],
    ['RUN with several lines', run('a\n  b'), 'RUN a b'],
    ['COPY', { type: 'COPY', args: ['a', '/b', 'root', '0755'] }, 'COPY a /b'],
    ['ENV without values, which may be tokens', { type: 'ENV', args: ['A', 'hunter2', 'B', 'x'] }, 'ENV A B'],
    ['a long command', run('x'.repeat(300)), `RUN ${'x'.repeat(200)}…`],
  ])('of %s', (_name, step, text) => {
    const line = describeStep(step, { position: 2, count: 5 }, { key, isCached: false });
    expect(line).toBe(`[builder 2/5] ${text} [abcdef012345]`);
  });
});

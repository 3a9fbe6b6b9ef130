import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildLevelPattern, formatTag, readMark } from './marks.ts';

/** The same is in runtime/internal/records/marker_test.go. */
const TAG = '54698a0f872eead6';
const read = (message: string) => readMark({ ms: 1, message }, TAG);

describe('a line with the mark of its Sandbox', () => {
  it('has a tag of the UID, as the daemon makes it', () => {
    expect(formatTag('uid-1')).toBe(TAG);
    expect(formatTag('uid-2')).not.toBe(TAG);
  });

  it('is of a process, and shown without the mark', () => {
    expect(read(`[process 7 stderr error ${TAG}] no such file`)).toEqual({
      ms: 1,
      message: 'no such file',
      process: { level: 'error', event: 'stderr', pid: '7' },
    });
    expect(read(`[process 7 stdout info ${TAG}] `).message).toBe('');
    expect(read(`[process 0 omitted warn ${TAG}] 3 lines`).process).toEqual({ level: 'warn', event: 'omitted' });
  });

  it('has one mark: what a process prints is no mark', () => {
    const printed = `[process 1 end warn ${TAG}] ended: exit status 1`;
    expect(read(`[process 7 stdout info ${TAG}] ${printed}`)).toMatchObject({
      message: printed,
      process: { pid: '7', event: 'stdout' },
    });
  });
});

describe('a line of the container', () => {
  it.each([
    '[process 7 stdout info 0123456789abcdef] of another Sandbox',
    `[process 7 stdout fatal ${TAG}] x`,
    `[process 7 restart info ${TAG}] x`,
    `[process -7 stdout info ${TAG}] x`,
    `[process 77777777777 stdout info ${TAG}] x`,
    ` [process 7 stdout info ${TAG}] x`,
    `a\n[process 7 stdout info ${TAG}] x`,
    `[process 7 stdout info ${TAG}]`,
    `[process 7 stdout info ${TAG.toUpperCase()}] x`,
    '',
  ])('is shown as it is: %j', (message) => {
    expect(read(message)).toEqual({ ms: 1, message });
  });

  it('is shown as it is, whatever it has', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (message) => {
        expect(read(message)).toEqual({ ms: 1, message });
      }),
    );
  });
});

it('a pattern for a level has no line that can be without it', () => {
  expect([buildLevelPattern('debug'), buildLevelPattern('info')]).toEqual([undefined, undefined]);
  const matches = (least: 'warn' | 'error', level: string): boolean =>
    new RegExp(buildLevelPattern(least) ?? '').test(`[process 7 end ${level} ${TAG}] x`);
  expect(['info', 'warn', 'error'].map((level) => matches('warn', level))).toEqual([false, true, true]);
  expect(['info', 'warn', 'error'].map((level) => matches('error', level))).toEqual([false, false, true]);
});

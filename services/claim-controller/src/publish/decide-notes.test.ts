import { describe, expect, it } from 'vitest';
import { decideNotes } from './decide-notes.ts';
import type { NotesSnapshot } from './decide-notes.ts';

const few: NotesSnapshot = { isInBurst: false, hasWaitedInCrowd: false, isNoted: false };

describe('the annotations of a claim', () => {
  const rows: readonly (readonly [when: string, snapshot: Partial<NotesSnapshot>, expected: 'early' | 'behind'])[] = [
    ['are early while few claims arrive', {}, 'early'],
    ['are written behind in a burst', { isInBurst: true }, 'behind'],
    ['are written behind when the claim has waited for stock with many others', { hasWaitedInCrowd: true }, 'behind'],
    ['are written behind when the claim has annotations of an earlier Sandbox', { isNoted: true }, 'behind'],
  ];
  it.each(rows)('%s', (_, snapshot, expected) => {
    expect(decideNotes({ ...few, ...snapshot })).toBe(expected);
  });
});

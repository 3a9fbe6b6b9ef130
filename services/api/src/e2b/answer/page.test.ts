import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listedSandboxFixture } from '../../../test/fixtures.ts';
import { buildPage } from './page.ts';
import type { Entry } from './page.ts';
import type { ListedSandbox } from './schemas.ts';

function entry(
  sandboxID: string,
  { createdMs = 0, ...fields }: Partial<ListedSandbox> & { createdMs?: number } = {},
): Entry {
  return { sandbox: listedSandboxFixture(sandboxID, fields), createdMs };
}

describe('buildPage', () => {
  const times = fc.integer({ min: 0, max: 5 }).map((second) => `2026-01-01T00:00:0${second}.000Z`);
  const sandboxes = fc
    .uniqueArray(
      fc.record({
        id: fc.stringMatching(/^[a-z][a-z0-9]{3}$/),
        startedAt: times,
        createdMs: fc.integer({ min: 0, max: 9 }),
      }),
      {
        selector: ({ id }) => id,
      },
    )
    .map((given) => given.map(({ id, ...fields }) => entry(id, fields)));

  const formatKey = ({ sandbox: { startedAt, sandboxID }, createdMs }: Entry): string =>
    `${startedAt}/${createdMs}/${sandboxID}`;

  it('gives every entry once and in order over all pages', () => {
    fc.assert(
      fc.property(
        sandboxes,
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.integer({ min: 1, max: 4 }),
        (...[all, order, limit]) => {
          const seen: string[] = [];
          let nextToken: string | undefined;
          do {
            const page = buildPage(all, { order, limit, nextToken });
            seen.push(...page.items.map(({ startedAt, sandboxID }) => `${startedAt}/${sandboxID}`));
            ({ nextToken } = page);
          } while (nextToken !== undefined);
          const sorted = all
            .toSorted((a, b) => (formatKey(a) < formatKey(b) ? -1 : 1))
            .map(({ sandbox: { startedAt, sandboxID } }) => `${startedAt}/${sandboxID}`);
          expect(seen).toEqual(order === 'asc' ? sorted : sorted.reverse());
        },
      ),
    );
  });

  it('continues after the last sandbox of the previous page although others appear and disappear', () => {
    const all = ['a', 'b', 'c', 'd'].map((id) => entry(id));
    const { nextToken } = buildPage(all, { order: 'asc', limit: 2, nextToken: undefined });
    const changed = [entry('0'), ...all.filter(({ sandbox: { sandboxID } }) => sandboxID !== 'b')];
    expect(buildPage(changed, { order: 'asc', limit: 2, nextToken }).items.map(({ sandboxID }) => sandboxID)).toEqual([
      'c',
      'd',
    ]);
  });

  it.each([
    'x',
    'bm9uc2Vuc2U',
    Buffer.from('yesterday__a__1').toString('base64url'),
    Buffer.from('2026-01-01T00:00:00Z__a').toString('base64url'),
  ])('rejects the token %j', (nextToken) => {
    expect(() => buildPage([], { order: 'asc', limit: 1, nextToken })).toThrow('no token of a page');
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildPlacedPage, newestFirst } from './placed-page.ts';
import type { Placed } from './placed-page.ts';

const placed = (ms: number, id: string): Placed<string> => ({ place: { ms, id }, item: `${ms}/${id}` });

describe('a list in the order of places', () => {
  it('has every item once over all pages, newest first, those of a millisecond by id', () => {
    const places = fc.uniqueArray(
      fc.record({ ms: fc.integer({ min: 0, max: 3 }), id: fc.stringMatching(/^[a-c]{1,2}$/) }),
      { selector: ({ ms, id }) => `${ms}/${id}` },
    );
    fc.assert(
      fc.property(places, fc.integer({ min: 1, max: 4 }), (given, limit) => {
        const all = given.map(({ ms, id }) => placed(ms, id));
        const seen: string[] = [];
        let nextToken: string | undefined;
        do {
          const page = buildPlacedPage(all, newestFirst, { limit, nextToken });
          expect(page.items.length).toBeLessThanOrEqual(limit);
          seen.push(...page.items);
          ({ nextToken } = page);
        } while (nextToken !== undefined);
        expect(seen).toEqual(all.toSorted((a, b) => newestFirst(a.place, b.place)).map(({ item }) => item));
      }),
    );
  });

  it('goes on behind the last item of the page before, although items came and went', () => {
    const { nextToken } = buildPlacedPage([placed(3, 'c'), placed(2, 'b'), placed(1, 'a')], newestFirst, { limit: 2 });
    const later = [placed(4, 'd'), placed(3, 'c'), placed(1, 'a')];
    expect(buildPlacedPage(later, newestFirst, { limit: 2, nextToken })).toEqual({
      items: ['1/a'],
      nextToken: undefined,
    });
  });

  it.each(['no token', Buffer.from('now__a').toString('base64url'), Buffer.from('1__../b').toString('base64url')])(
    'refuses the token "%s"',
    (nextToken) => {
      expect(() => buildPlacedPage([], newestFirst, { limit: 1, nextToken })).toThrow('Invalid next token');
    },
  );
});

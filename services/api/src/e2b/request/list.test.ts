import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filterOf, metadataFilter, pageOf } from './list.ts';
import type { Entry } from './list.ts';
import type { ListedSandbox } from './schemas.ts';

function entry(
  sandboxID: string,
  { createdMs = 0, ...fields }: Partial<ListedSandbox> & { createdMs?: number } = {},
): Entry {
  return { sandbox: sandbox(sandboxID, fields), createdMs };
}

function sandbox(sandboxID: string, fields: Partial<ListedSandbox> = {}): ListedSandbox {
  return {
    templateID: 'base',
    sandboxID,
    clientID: 'sandlot',
    startedAt: '2026-01-01T00:00:00.000Z',
    endAt: '2026-01-01T01:00:00.000Z',
    cpuCount: 1,
    memoryMB: 0,
    diskSizeMB: 0,
    state: 'running',
    envdVersion: '0.6.4',
    ...fields,
  };
}

/** As the clients encode it, less the encoding of the query itself. */
function encoded(metadata: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(metadata).map(([key, value]): [string, string] => [
    encodeURIComponent(key),
    encodeURIComponent(value),
  ]);
  return new URLSearchParams(pairs).toString();
}

describe('the metadata filter', () => {
  it.each([
    ['what the contract shows', 'a=b%2520c', [['a', 'b c']]],
    ['nothing', undefined, []],
    [
      'several pairs',
      'a=1&b=2',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    ['a value without encoding', 'a=b', [['a', 'b']]],
  ])('decodes %s', (...[, text, pairs]) => {
    expect(metadataFilter(text)).toEqual(pairs);
  });

  it('gives back whatever clients encode', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((given) => given.isWellFormed());
    fc.assert(
      fc.property(fc.dictionary(text, text), (metadata) => {
        expect(metadataFilter(encoded(metadata))).toEqual(Object.entries(metadata));
      }),
    );
  });

  it('refuses what is not percent-encoded', () => {
    expect(() => metadataFilter('a=%25zz')).toThrow('not percent-encoded');
  });
});

describe('the filter of a list', () => {
  const one = sandbox('a', { metadata: { user: 'ana', team: 'x' }, state: 'paused' });

  it.each([
    ['all pairs', { metadata: 'user=ana&team=x' }, true],
    ['one pair of two', { metadata: 'user=ana&team=y' }, false],
    ['a property of every object', { metadata: 'toString=x' }, false],
    ['its state', { state: ['paused' as const] }, true],
    ['another state', { state: ['running' as const] }, false],
    ['its template', { template: 'base' }, true],
    ['another template', { template: 'other' }, false],
    ['an earlier start', { startedAfter: '2025-12-31T23:59:59Z' }, true],
    ['its own start', { startedAfter: '2026-01-01T00:00:00Z' }, false],
  ])('by %s', (...[, query, wanted]) => {
    expect(
      filterOf({ metadata: undefined, state: undefined, startedAfter: undefined, template: undefined, ...query })(one),
    ).toBe(wanted);
  });
});

describe('pages', () => {
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

  const keyOf = ({ sandbox: { startedAt, sandboxID }, createdMs }: Entry): string =>
    `${startedAt}/${createdMs}/${sandboxID}`;

  it('together are the whole list in order, once each', () => {
    fc.assert(
      fc.property(
        sandboxes,
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.integer({ min: 1, max: 4 }),
        (...[all, order, limit]) => {
          const seen: string[] = [];
          let nextToken: string | undefined;
          do {
            const page = pageOf(all, { order, limit, nextToken });
            seen.push(...page.items.map(({ startedAt, sandboxID }) => `${startedAt}/${sandboxID}`));
            ({ nextToken } = page);
          } while (nextToken !== undefined);
          const sorted = all
            .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
            .map(({ sandbox: { startedAt, sandboxID } }) => `${startedAt}/${sandboxID}`);
          expect(seen).toEqual(order === 'asc' ? sorted : sorted.reverse());
        },
      ),
    );
  });

  it('go on where they ended although sandboxes come and go', () => {
    const all = ['a', 'b', 'c', 'd'].map((id) => entry(id));
    const { nextToken } = pageOf(all, { order: 'asc', limit: 2, nextToken: undefined });
    const changed = [entry('0'), ...all.filter(({ sandbox: { sandboxID } }) => sandboxID !== 'b')];
    expect(pageOf(changed, { order: 'asc', limit: 2, nextToken }).items.map(({ sandboxID }) => sandboxID)).toEqual([
      'c',
      'd',
    ]);
  });

  it.each([
    'x',
    'bm9uc2Vuc2U',
    Buffer.from('yesterday__a__1').toString('base64url'),
    Buffer.from('2026-01-01T00:00:00Z__a').toString('base64url'),
  ])('refuse the token %j', (nextToken) => {
    expect(() => pageOf([], { order: 'asc', limit: 1, nextToken })).toThrow('no token of a page');
  });
});

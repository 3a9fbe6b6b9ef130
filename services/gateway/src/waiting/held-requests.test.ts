import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeldRequests } from './held-requests.ts';
import type { HeldRequest, NoPlace } from './held-requests.ts';

/** As the chart sets them. */
const LIMITS = { requests: 1_000, bytes: 67_108_864, perSandbox: 200, perNamespace: 600, perSource: 600 };

const buildRequest = (given: Partial<HeldRequest> = {}): HeldRequest => ({
  bodyBytes: 0,
  sandbox: 'uid-attacked',
  namespace: 'team-a',
  source: '192.0.2.1',
  ...given,
});

const isPlace = (given: Disposable | NoPlace): given is Disposable => Symbol.dispose in given;

/** Asks for places until there is none; how many there were, and which limit ended it. */
function fill(held: HeldRequests, next: (n: number) => Partial<HeldRequest>) {
  for (let n = 0; ; n += 1) {
    const given = held.enter(buildRequest(next(n)));
    if (!isPlace(given)) return { count: n, ...given };
  }
}

const ELSEWHERE = { sandbox: 'uid-honest', namespace: 'team-b', source: '198.51.100.1' };

describe('requests that wait for their sandboxes', () => {
  it.each<[string, (n: number) => Partial<HeldRequest>, object]>([
    ['to one sandbox', (n) => ({ source: `192.0.2.${n}` }), { limit: 'held-by-sandbox', requests: 200, count: 200 }],
    [
      'with bodies to one sandbox',
      (n) => ({ source: `192.0.2.${n}`, bodyBytes: Infinity }),
      { limit: 'held-by-sandbox', requests: 200, count: 91 },
    ],
    [
      'to all sandboxes of a namespace',
      (n) => ({ sandbox: `uid-${n}`, source: `192.0.2.${n}` }),
      { limit: 'held-by-namespace', requests: 600, count: 600 },
    ],
    [
      'from one source to sandboxes everywhere',
      (n) => ({ sandbox: `uid-${n}`, namespace: `team-${n}` }),
      { limit: 'held-by-source', requests: 600, count: 600 },
    ],
  ])('%s leave places to others', (_, next, wanted) => {
    const held = new HeldRequests(LIMITS);
    expect(fill(held, next)).toEqual(wanted);
    expect(isPlace(held.enter(buildRequest(ELSEWHERE)))).toBe(true);
  });

  it('are refused when all places are taken, by many sources to many sandboxes', () => {
    const held = new HeldRequests(LIMITS);
    const next = (n: number) => ({ sandbox: `uid-${n}`, namespace: `team-${n}`, source: `192.0.2.${n}` });
    expect(fill(held, next)).toEqual({ limit: 'all', requests: 1_000, count: 1_000 });
  });

  it('are refused when there are no places at all', () => {
    expect(new HeldRequests({ ...LIMITS, requests: 0 }).enter(buildRequest())).toMatchObject({ requests: 0 });
  });

  it('never exceed a limit, and give back what they took', () => {
    const limits = { requests: 6, bytes: 1_000_000, perSandbox: 2, perNamespace: 3, perSource: 4 };
    const one = fc.record({
      sandbox: fc.constantFrom('a', 'b', 'c'),
      namespace: fc.constantFrom('x', 'y', 'z'),
      source: fc.constantFrom('1', '2', '3'),
      bodyBytes: fc.constantFrom(0, 1_000, Infinity),
      leaves: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(one), (steps) => {
        const held = new HeldRequests(limits);
        const open: { request: HeldRequest; place: Disposable }[] = [];
        for (const { leaves, ...request } of steps) {
          if (leaves) open.pop()?.place[Symbol.dispose]();
          const given = held.enter(request);
          if (isPlace(given)) open.push({ request, place: given });
          const countOf = (key: 'sandbox' | 'namespace' | 'source'): number =>
            open.filter((other) => other.request[key] === request[key]).length;
          expect(countOf('sandbox')).toBeLessThanOrEqual(2);
          expect(countOf('namespace')).toBeLessThanOrEqual(3);
          expect(countOf('source')).toBeLessThanOrEqual(4);
          expect(held.count).toBe(open.length);
        }
        for (const { place } of [...open, ...open]) place[Symbol.dispose]();
        expect(held.count).toBe(0);
        expect(fill(held, () => ({ sandbox: 'a' }))).toMatchObject({ count: 2 });
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InitPlaces } from './init-places.ts';
import type { InitLimits, PlaceOwner, Release } from './init-places.ts';

const LIMITS: InitLimits = { total: 4, perNamespace: 3, perTemplate: 2 };

const owner = (text: string): PlaceOwner => {
  const [namespace = '', template = ''] = text.split('/');
  return { namespace, template };
};

/** Owners that ask for places in this order, and the order in which they get them. */
class Line {
  readonly places = new InitPlaces(LIMITS);
  readonly served: string[] = [];
  readonly held: { readonly name: string; readonly release: Release }[] = [];

  ask(name: string, signal: AbortSignal = new AbortController().signal): Promise<void> {
    const taken = this.places.tryTake(owner(name));
    if (taken !== undefined) {
      this.#serve(name, taken);
      return Promise.resolve();
    }
    return this.places.waitFor(owner(name), signal).then((release) => this.#serve(name, release));
  }

  #serve(name: string, release: Release): void {
    this.served.push(name);
    this.held.push({ name, release });
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('places of calls to daemons', () => {
  it('are free up to the limit of the template, of the namespace and of all', () => {
    const { places } = new Line();
    const taken = ['a/1', 'a/1', 'a/1', 'a/2', 'a/2', 'b/1', 'c/1'].map((name) => places.tryTake(owner(name)));
    expect(taken.map((place) => place !== undefined)).toEqual([true, true, false, true, false, true, false]);
  });

  it('go to each namespace in turn when they become free, and within it to each template', async () => {
    const line = new Line();
    for (const name of ['a/1', 'a/1', 'a/2', 'b/1']) void line.ask(name);
    for (const name of ['a/1', 'a/1', 'a/2', 'a/2', 'b/1', 'c/1']) void line.ask(name);
    while (line.held.length > 0) {
      line.held.shift()?.release();
      await settle();
    }
    expect(line.served.slice(4)).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'a/1', 'a/2']);
  });

  it('are not kept for one that has given up', async () => {
    const line = new Line();
    for (const name of ['a/1', 'a/1']) void line.ask(name);
    const abort = new AbortController();
    const gone = expect(line.ask('a/1', abort.signal)).rejects.toThrow('deleted');
    void line.ask('a/1');
    abort.abort(new Error('deleted'));
    await gone;
    line.held.shift()?.release();
    await settle();
    expect(line.served).toEqual(['a/1', 'a/1', 'a/1']);
    await expect(line.ask('a/1', abort.signal)).rejects.toThrow('deleted');
  });

  it('never exceed a limit, and serve everybody', async () => {
    const name = fc.constantFrom('a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1');
    await fc.assert(
      fc.asyncProperty(fc.array(name, { maxLength: 40 }), async (names) => {
        const line = new Line();
        for (const each of names) void line.ask(each);
        for (; line.held.length > 0; await settle()) {
          const count = (prefix: string): number => line.held.filter((held) => held.name.startsWith(prefix)).length;
          expect(line.held.length).toBeLessThanOrEqual(LIMITS.total);
          for (const namespace of ['a', 'b', 'c']) expect(count(namespace)).toBeLessThanOrEqual(LIMITS.perNamespace);
          for (const each of names) expect(count(each)).toBeLessThanOrEqual(LIMITS.perTemplate);
          line.held.shift()?.release();
        }
        expect([...line.served].sort()).toEqual([...names].sort());
      }),
    );
  });
});

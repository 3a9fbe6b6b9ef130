import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiObject } from './api-object.ts';
import { Storage } from './storage.ts';

const TABLE = '/pods';

interface Step {
  readonly verb: 'put' | 'remove';
  readonly key: string;
  readonly value: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ verb: fc.constantFrom('put', 'remove'), key: fc.constantFrom('a', 'b', 'c'), value: fc.nat(3) }),
);

function run(storage: Storage, { verb, key, value }: Step): void {
  if (verb === 'put') storage.put(TABLE, key, { metadata: { name: key }, spec: { value } });
  else storage.remove(TABLE, key);
}

function getContent(table: ReadonlyMap<string, ApiObject> | undefined): [string, ApiObject][] {
  return [...(table ?? [])].sort(([left], [right]) => (left < right ? -1 : 1));
}

describe('Storage', () => {
  it('can return a snapshot of every earlier revision', () => {
    fc.assert(
      fc.property(steps, (history) => {
        const storage = new Storage();
        const past = [{ revision: storage.revision, content: getContent(storage.table(TABLE)) }];
        for (const step of history) {
          run(storage, step);
          past.push({ revision: storage.revision, content: getContent(storage.table(TABLE)) });
        }
        for (const { revision, content } of past)
          expect(getContent(storage.snapshot(TABLE, revision))).toEqual(content);
      }),
    );
  });

  it('returns the changes that lead from any revision to the current one', () => {
    fc.assert(
      fc.property(steps, fc.nat(20), (history, start) => {
        const storage = new Storage();
        for (const step of history) run(storage, step);
        const revision = Math.min(storage.oldestRevision + start, storage.revision);
        const table = new Map(storage.snapshot(TABLE, revision));
        for (const { type, key, object } of storage.since(revision)) {
          if (type === 'DELETED') table.delete(key);
          else table.set(key, object);
        }
        expect(getContent(table)).toEqual(getContent(storage.table(TABLE)));
      }),
    );
  });

  it('drops old revisions when it is compacted, but not the current one', () => {
    const storage = new Storage();
    run(storage, { verb: 'put', key: 'a', value: 1 });
    const before = storage.revision;
    storage.compact();
    expect(storage.snapshot(TABLE, before)).toBeUndefined();
    expect(storage.snapshot(TABLE, storage.revision)?.size).toBe(1);
  });
});

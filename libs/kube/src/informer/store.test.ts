import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getKey } from '../objects/object.ts';
import type { KubeObject } from '../objects/object.ts';
import { ObjectStore } from './store.ts';
import { dropBulk } from './transform.ts';

interface Thing extends KubeObject {
  readonly tags: readonly string[];
}

const byTag = { byTag: (thing: Thing) => thing.tags };

let version = 0;
const thing = (name: string, tags: readonly string[] = [], uid = `uid-${name}`): Thing =>
  Object.freeze({ metadata: { namespace: 'ns', name, uid, resourceVersion: `v${version++}` }, tags });

const names = (things: Iterable<Thing>): (string | undefined)[] => [...things].map((t) => t.metadata.name).sort();

describe('store', () => {
  it('finds objects by key and by index', () => {
    const store = new ObjectStore<Thing>(byTag);
    store.set(thing('a', ['x', 'y']));
    store.set(thing('b', ['y']));
    expect(store.get('ns/a')?.tags).toEqual(['x', 'y']);
    expect(names(store.listByIndex('byTag', 'y'))).toEqual(['a', 'b']);
    expect([store.countIndex('byTag', 'x'), store.countIndex('byTag', 'none')]).toEqual([1, 0]);
  });

  it('throws for an unknown index', () => {
    const store = new ObjectStore<Thing>(byTag);
    expect(() => [...store.listByIndex('byTga', 'x')]).toThrow('no index "byTga"');
    expect(() => store.countIndex('byTga', 'x')).toThrow('no index "byTga"');
  });

  it('returns the changes of each operation', () => {
    const store = new ObjectStore<Thing>();
    const [a1, a2] = [thing('a'), thing('a')];
    expect(store.set(a1)).toEqual([{ key: 'ns/a', old: undefined, next: a1 }]);
    expect(store.set(a2)).toEqual([{ key: 'ns/a', old: a1, next: a2 }]);
    expect(store.delete('ns/a')).toEqual([{ key: 'ns/a', old: a2, next: undefined }]);
    expect(store.delete('ns/a')).toEqual([]);
  });

  it('ignores an object whose version it already has', () => {
    const store = new ObjectStore<Thing>();
    const a = thing('a');
    store.set(a);
    expect(store.set({ ...a })).toEqual([]);
    expect(store.get('ns/a')).toBe(a);
  });

  it('reports an object that was recreated with the same name as a removal and an addition', () => {
    const store = new ObjectStore<Thing>();
    const [first, second] = [thing('a', [], 'uid-1'), thing('a', [], 'uid-2')];
    store.set(first);
    expect(store.replace([second])).toEqual([
      { key: 'ns/a', old: first, next: undefined },
      { key: 'ns/a', old: undefined, next: second },
    ]);
  });

  it('reports objects missing from a list as removed', () => {
    const store = new ObjectStore<Thing>(byTag);
    const [a, b, c] = [thing('a', ['x']), thing('b', ['x']), thing('c', ['x'])];
    store.replace([a, b]);
    expect(store.replace([b, c])).toEqual([
      { key: 'ns/a', old: a, next: undefined },
      { key: 'ns/c', old: undefined, next: c },
    ]);
    expect(names(store.listByIndex('byTag', 'x'))).toEqual(['b', 'c']);
  });

  it('equals a model under any sequence of events and lists', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const tags = fc.subarray(['x', 'y', 'z']);
    const uid = fc.constantFrom('1', '2');
    const object = fc.record({ name, tags, uid }).map((o) => thing(o.name, o.tags, o.uid));
    const command = fc.oneof(
      object.map((next) => ({ kind: 'set' as const, next })),
      name.map((gone) => ({ kind: 'delete' as const, gone })),
      fc.array(object, { maxLength: 4 }).map((all) => ({ kind: 'replace' as const, all })),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 30 }), (commands) => {
        const store = new ObjectStore<Thing>(byTag);
        let model = new Map<string, Thing>();
        const mirror = new Map<string, Thing>();
        for (const c of commands) {
          if (c.kind === 'set') model.set(getKey(c.next), c.next);
          else if (c.kind === 'delete') model.delete(`ns/${c.gone}`);
          else model = new Map(c.all.map((o) => [getKey(o), o]));
          const changes =
            c.kind === 'set'
              ? store.set(c.next)
              : c.kind === 'delete'
                ? store.delete(`ns/${c.gone}`)
                : store.replace(c.all);
          for (const { key, old, next } of changes) {
            expect(mirror.get(key)).toBe(old);
            if (next === undefined) mirror.delete(key);
            else mirror.set(key, next);
          }
          expect(mirror).toEqual(model);
          expect(new Set(store.values())).toEqual(new Set(model.values()));
          for (const tag of ['x', 'y', 'z']) {
            const tagged = [...model.values()].filter((o) => o.tags.includes(tag));
            expect(new Set(store.listByIndex('byTag', tag))).toEqual(new Set(tagged));
            expect(store.countIndex('byTag', tag)).toBe(tagged.length);
          }
        }
      }),
    );
  });
});

describe('dropBulk', () => {
  it('removes only field ownership and the last applied manifest', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', keep: 'me' };
    const metadata = { name: 'a', resourceVersion: '1', labels: { l: '1' }, annotations, managedFields: [{}] };
    const before = Object.freeze({ kind: 'Pod', spec: { x: 1 }, metadata: Object.freeze(metadata) });
    expect(dropBulk(before)).toEqual({
      kind: 'Pod',
      spec: { x: 1 },
      metadata: { name: 'a', resourceVersion: '1', labels: { l: '1' }, annotations: { keep: 'me' } },
    });
  });
});

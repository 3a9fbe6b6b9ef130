import { expect, it } from 'vitest';
import { EndedIndex } from './ended-index.ts';

const ended = (pod: string) => ({ pod, sandboxUid: 'uid', atMs: 1 });

it('ended sandboxes are found by namespace and id', () => {
  const index = new EndedIndex();
  index.add('team-a', 'x', ended('pod-x'));
  expect(index.find('team-a', 'x')).toEqual(ended('pod-x'));
  expect([index.find('team-b', 'x'), index.find('team-a', 'y')]).toEqual([undefined, undefined]);
});

it('the oldest ones of a namespace make room', () => {
  const index = new EndedIndex({ ofNamespace: 2, inAll: 10 });
  for (const id of ['a', 'b', 'a', 'c']) index.add('team-a', id, ended(id));
  expect(['a', 'b', 'c'].filter((id) => index.find('team-a', id) !== undefined)).toEqual(['a', 'c']);
  expect(index.count).toBe(2);
});

it('a namespace about which clients have not asked for the longest time makes room for others, and is read anew then', () => {
  const index = new EndedIndex({ ofNamespace: 10, inAll: 3 });
  const evicted: string[] = [];
  index.onEvicted = (namespace) => evicted.push(namespace);
  for (const namespace of ['first', 'second']) index.add(namespace, 'a', ended('p'));
  index.touch('first');
  for (const id of ['a', 'b', 'c']) index.add('third', id, ended(id));
  expect(evicted).toEqual(['second', 'first']);
  expect([index.find('first', 'a'), index.find('third', 'a')]).toEqual([undefined, ended('a')]);
  expect(index.count).toBe(3);
});

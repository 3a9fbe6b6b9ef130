import { describe, expect, it } from 'vitest';
import type { Change, ChangeHandler, Informer } from '../informer/informer.ts';
import { channelSource, watchSource } from './source.ts';

interface Owned {
  readonly owner: string;
}

/** An informer of which only the changes matter here. */
function informerOf(): { informer: Informer<Owned>; emit: ChangeHandler<Owned> } {
  const handlers = new Set<ChangeHandler<Owned>>();
  const surface: Pick<Informer<Owned>, 'onChange'> = {
    onChange: (handler) => {
      handlers.add(handler);
      return { [Symbol.dispose]: () => void handlers.delete(handler) };
    },
  };
  return { informer: surface as Informer<Owned>, emit: (change) => handlers.forEach((handler) => handler(change)) };
}

function recordingQueue() {
  const adds: [string, number | undefined][] = [];
  const delayed: [string, number, number | undefined][] = [];
  return {
    adds,
    delayed,
    add: (key: string, options?: { priority?: number | undefined }) => void adds.push([key, options?.priority]),
    addAfter: (...[key, ms, options]: [string, number, { priority?: number | undefined }?]) =>
      void delayed.push([key, ms, options?.priority]),
  };
}

const change = (old: Owned | undefined, next: Owned | undefined, initial = false): Change<Owned> => ({
  key: 'ns/x',
  old,
  next,
  initial,
});

describe('a watch source', () => {
  it.each<[string, Change<Owned>, [string, number | undefined][]]>([
    ['an addition concerns its owner', change(undefined, { owner: 'a' }), [['a', 3]]],
    ['a removal concerns its owner', change({ owner: 'a' }, undefined), [['a', 3]]],
    [
      'a move concerns both owners',
      change({ owner: 'a' }, { owner: 'b' }),
      [
        ['a', 3],
        ['b', 3],
      ],
    ],
    ['what was there before waits behind', change(undefined, { owner: 'a' }, true), [['a', -100]]],
    ['of that, an object that a client waits for goes first', change(undefined, { owner: 'w' }, true), [['w', -50]]],
  ])('%s', (...[, event, adds]) => {
    const { informer, emit } = informerOf();
    const queue = recordingQueue();
    const source = watchSource(informer, (o) => [o.owner], { priority: 3, isAwaited: ({ owner }) => owner === 'w' });
    const connection = source.connect(queue);
    emit(event);
    connection[Symbol.dispose]();
    emit(event);
    expect(queue.adds).toEqual(adds);
    expect(source.informers).toEqual([informer]);
  });
});

it('a watch source looks later at a change that can wait', () => {
  const { informer, emit } = informerOf();
  const queue = recordingQueue();
  const delayMs = ({ old }: Change<Owned>): number => (old === undefined ? 0 : 250);
  watchSource(informer, (o) => [o.owner], { priority: 3, delayMs }).connect(queue);
  emit(change(undefined, { owner: 'a' }));
  emit(change({ owner: 'a' }, { owner: 'a' }));
  expect(queue.adds).toEqual([['a', 3]]);
  expect(queue.delayed).toEqual([
    ['a', 250, 3],
    ['a', 250, 3],
  ]);
});

describe('a channel source', () => {
  it('feeds its queue, now or later', () => {
    const source = channelSource();
    const queue = recordingQueue();
    source.connect(queue);
    source.push('a');
    source.push('b', { priority: 4, delayMs: 50 });
    expect(queue.delayed).toEqual([
      ['a', 0, undefined],
      ['b', 50, 4],
    ]);
  });

  it('adds its present keys when it is connected, and drops pushes while it is not', () => {
    const source = channelSource(() => ['team-a', 'team-b']);
    const [first, second] = [recordingQueue(), recordingQueue()];
    source.push('early');
    source.connect(first)[Symbol.dispose]();
    source.push('between');
    source.connect(second);
    source.push('late');
    expect([first.adds, first.delayed]).toEqual([PRESENT, []]);
    expect([second.adds, second.delayed]).toEqual([PRESENT, [['late', 0, undefined]]]);
  });
});

const PRESENT = [
  ['team-a', -100],
  ['team-b', -100],
];

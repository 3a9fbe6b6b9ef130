import { describe, expect, it } from 'vitest';
import type { Change, ChangeHandler, Informer } from '../informer/informer.ts';
import { createChannelSource, watchSource } from './source.ts';

interface Owned {
  readonly owner: string;
}

/** An informer with changes only. */
function createInformer(): { informer: Informer<Owned>; emit: ChangeHandler<Owned> } {
  const handlers = new Set<ChangeHandler<Owned>>();
  const surface: Pick<Informer<Owned>, 'onChange'> = {
    onChange: (handler) => {
      handlers.add(handler);
      return { [Symbol.dispose]: () => void handlers.delete(handler) };
    },
  };
  return { informer: surface as Informer<Owned>, emit: (change) => handlers.forEach((handler) => handler(change)) };
}

function createRecordingQueue() {
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
    ['enqueues the owner of an added object', change(undefined, { owner: 'a' }), [['a', 3]]],
    ['enqueues the owner of a removed object', change({ owner: 'a' }, undefined), [['a', 3]]],
    [
      'enqueues both owners when the owner changes',
      change({ owner: 'a' }, { owner: 'b' }),
      [
        ['a', 3],
        ['b', 3],
      ],
    ],
    ['gives objects of the first list a low priority', change(undefined, { owner: 'a' }, true), [['a', -100]]],
    ['prefers objects of the first list that a client awaits', change(undefined, { owner: 'w' }, true), [['w', -50]]],
  ])('%s', (...[, event, adds]) => {
    const { informer, emit } = createInformer();
    const queue = createRecordingQueue();
    const source = watchSource(informer, (o) => [o.owner], { priority: 3, isAwaited: ({ owner }) => owner === 'w' });
    const connection = source.connect(queue);
    emit(event);
    connection[Symbol.dispose]();
    emit(event);
    expect(queue.adds).toEqual(adds);
    expect(source.informers).toEqual([informer]);
  });
});

it('a watch source delays the key of a change that can wait', () => {
  const { informer, emit } = createInformer();
  const queue = createRecordingQueue();
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
  it('adds keys to its queue, at once or after a delay', () => {
    const source = createChannelSource();
    const queue = createRecordingQueue();
    source.connect(queue);
    source.push('a');
    source.push('b', { priority: 4, delayMs: 50 });
    expect(queue.delayed).toEqual([
      ['a', 0, undefined],
      ['b', 50, 4],
    ]);
  });

  it('adds its present keys on connect and drops pushes while it is disconnected', () => {
    const source = createChannelSource(() => ['team-a', 'team-b']);
    const [first, second] = [createRecordingQueue(), createRecordingQueue()];
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

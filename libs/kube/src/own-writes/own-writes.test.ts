import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { ScriptedInformer } from '../../test/scripted-informer.ts';
import { KubeError } from '../errors.ts';
import { getKey } from '../objects/object.ts';
import type { KubeObject } from '../objects/object.ts';
import { createOwnWrites } from './own-writes.ts';
import type { OwnWritesOptions } from './own-writes.ts';

interface Box extends KubeObject {
  readonly color?: string;
}

const KEY = 'team/box';
const KEEP_MS = 5_000;

function box(resourceVersion: string, { uid = 'u', name = 'box', color = 'red' } = {}): Box {
  return { metadata: { namespace: 'team', name, uid, resourceVersion }, color };
}

function setup(first?: Box, options: Partial<OwnWritesOptions<Box>> = {}) {
  const clock = new FakeClock();
  const informer = new ScriptedInformer<Box>({ byColor: ({ color = '' }) => [color] });
  if (first !== undefined) informer.shows(first);
  const doubted: string[] = [];
  const onDoubt = (key: string, object: Box | undefined): void =>
    void doubted.push(`${key} ${object?.metadata.resourceVersion ?? 'deleted'}`);
  const own = createOwnWrites<Box>({ informer, clock, keepMs: KEEP_MS, onDoubt, ...options });
  const version = (key = KEY): string | undefined => own.get(key)?.metadata.resourceVersion;
  const write = (object: Box): Promise<Box> => own.write(getKey(object), () => Promise.resolve(object));
  const read = (object: Box): Promise<Box> => own.read(getKey(object), () => Promise.resolve(object));
  const versions = (color: string): string[] =>
    [...own.listByIndex('byColor', color)].map(({ metadata }) => metadata.resourceVersion ?? '').sort();
  return { clock, informer, doubted, own, version, versions, write, read };
}

const notFound = (): KubeError =>
  new KubeError({ verb: 'get', resource: 'boxes', key: KEY, code: 'NotFound', message: 'no such box', status: 404 });
const failsAsNotFound = (): Promise<never> => Promise.reject(notFound());

describe('an answer', () => {
  it('is found until the watch shows that very version', async () => {
    const { informer, version, write } = setup(box('1'));
    await write(box('3'));
    expect(version()).toBe('3');
    informer.shows(box('2'));
    expect(version()).toBe('3');
    informer.shows(box('3'), box('4'));
    expect(version()).toBe('4');
  });

  it('is not remembered when the watch was faster', async () => {
    const { informer, own, version } = setup(box('1'));
    await own.write(KEY, () => {
      informer.shows(box('2'), box('3'));
      return Promise.resolve(box('2'));
    });
    expect(version()).toBe('3');
  });

  it('is not remembered when the watch has shown the end of the object meanwhile', async () => {
    const { informer, own, version } = setup(box('1'));
    await own.read(KEY, () => {
      informer.showsEnd(box('1'));
      return Promise.resolve(box('2'));
    });
    expect(version()).toBeUndefined();
  });

  it('is found while the watch still shows, changes and ends an earlier object of that name', async () => {
    const { informer, version, write } = setup(box('1', { uid: 'former' }));
    await write(box('4'));
    informer.shows(box('2', { uid: 'former' }));
    expect(version()).toBe('4');
    informer.showsEnd(box('2', { uid: 'former' }));
    expect(version()).toBe('4');
    informer.shows(box('4'), box('5'));
    expect(version()).toBe('5');
  });

  it('ends when the watch shows the end of the object', async () => {
    const { informer, version, write } = setup(box('1'));
    await write(box('2'));
    informer.showsEnd(box('1'));
    expect(version()).toBeUndefined();
  });

  it('is returned as the server sent it, and remembered as the informer would store it', async () => {
    const { informer, own } = setup();
    informer.transform = (object) => ({ ...object, color: 'transformed' });
    expect(await own.write(KEY, () => Promise.resolve(box('1')))).toEqual(box('1'));
    expect(own.get(KEY)?.color).toBe('transformed');
  });

  it('is not remembered when the call fails', async () => {
    const { own, version } = setup(box('1'));
    await expect(own.write(KEY, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    expect(version()).toBe('1');
  });

  it('is forgotten on request', async () => {
    const { own, version, write } = setup(box('1'));
    await write(box('2'));
    own.forget(KEY);
    expect(version()).toBe('1');
  });
});

describe('calls that run at the same time', () => {
  it('a read does not hide a write that was answered while it ran', async () => {
    const { own, version, write } = setup(box('1'));
    const slow = Promise.withResolvers<Box>();
    const reading = own.read(KEY, () => slow.promise);
    await write(box('3'));
    slow.resolve(box('2'));
    await reading;
    expect(version()).toBe('3');
  });

  it('a read that finds nothing does not hide a create that was answered while it ran', async () => {
    const { own, version, write } = setup();
    const slow = Promise.withResolvers<Box | undefined>();
    const reading = own.read(KEY, () => slow.promise);
    await write(box('1'));
    slow.resolve(undefined);
    await reading;
    expect(version()).toBe('1');
  });

  it('a read that began after the answer of a write replaces it', async () => {
    const { version, write, read } = setup(box('1'));
    await write(box('2'));
    await read(box('4'));
    expect(version()).toBe('4');
  });

  it.each([
    ['in their order', ['2', '3']],
    ['in the other order', ['3', '2']],
  ] as const)('two writes answered %s are both found until the watch shows the last', async (_, [first, second]) => {
    const { informer, own, version, write } = setup(box('1'));
    const slow = Promise.withResolvers<Box>();
    const writing = own.write(KEY, () => slow.promise);
    await write(box(first));
    slow.resolve(box(second));
    await writing;
    expect(version()).toBe(second);
    informer.shows(box('2'));
    expect(version()).toBe('3');
    informer.shows(box('3'), box('4'));
    expect(version()).toBe('4');
  });
});

describe('a deletion', () => {
  it('leaves the other one of two objects that were created at the same time', async () => {
    const { own, version, write } = setup();
    const slow = Promise.withResolvers<Box>();
    const writing = own.write(KEY, () => slow.promise);
    await write(box('3'));
    slow.resolve(box('1', { uid: 'former' }));
    await writing;
    own.recordGone(box('1', { uid: 'former' }));
    expect(version()).toBe('3');
  });

  it('shows the object as terminating until the watch shows its end', () => {
    const { informer, own } = setup(box('1'));
    const deletionTimestamp = '2030-01-01T00:00:00.000Z';
    expect(own.recordDelete(box('1')).metadata.deletionTimestamp).toBe(deletionTimestamp);
    informer.shows(box('2'));
    expect(own.get(KEY)?.metadata).toMatchObject({ resourceVersion: '2', deletionTimestamp });
    informer.showsEnd(box('2'));
    expect(own.get(KEY)).toBeUndefined();
    informer.shows(box('3', { uid: 'next' }));
    expect(own.get(KEY)?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('leaves an object that the watch shows as terminating as it is', () => {
    const { informer, own } = setup(box('1'));
    own.recordDelete(box('1'));
    const { metadata } = box('2');
    const shown = { metadata: { ...metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };
    informer.shows(shown);
    expect(own.get(KEY)).toBe(shown);
  });

  it('hides an object that is gone, in whatever version the watch shows it', () => {
    const { informer, own, version } = setup(box('1'));
    own.recordGone(box('1'));
    expect(version()).toBeUndefined();
    informer.shows(box('2'));
    expect(version()).toBeUndefined();
    informer.shows(box('3', { uid: 'next' }));
    expect(version()).toBe('3');
  });

  it('hides an object that the watch shows only afterwards', async () => {
    const { informer, own, version, write } = setup();
    await write(box('1'));
    own.recordGone(box('1'));
    informer.shows(box('1'));
    expect(version()).toBeUndefined();
  });

  it('does not hide a newer object of the same name', async () => {
    const { informer, own, version, write } = setup(box('1', { uid: 'former' }));
    own.recordGone(box('1', { uid: 'former' }));
    await write(box('3'));
    expect(version()).toBe('3');
    informer.showsEnd(box('1', { uid: 'former' }));
    informer.shows(box('3'));
    own.recordGone(box('1', { uid: 'former' }));
    expect(version()).toBe('3');
  });

  it.each([
    ['undefined', () => Promise.resolve(undefined)],
    ['NotFound', failsAsNotFound],
  ])('is learnt from a read that answers %s', async (_, call) => {
    const { informer, own, version } = setup(box('1'));
    await own.read<Box | undefined>(KEY, call).catch(() => undefined);
    expect(version()).toBeUndefined();
    informer.shows(box('2'));
    expect(version()).toBeUndefined();
    informer.shows(box('3', { uid: 'next' }));
    expect(version()).toBe('3');
  });

  it('is not learnt about an object that the watch has shown since the read began', async () => {
    const { informer, own, version } = setup();
    await own.read(KEY, () => {
      informer.shows(box('1'));
      return Promise.resolve(undefined);
    });
    expect(version()).toBe('1');
  });

  it('is not undone by the answer of an earlier read', async () => {
    const { clock, informer, own, version } = setup(box('1'));
    const slow = Promise.withResolvers<Box>();
    const reading = own.read(KEY, () => slow.promise);
    own.recordGone(box('1'));
    await clock.advance(KEEP_MS / 2);
    slow.resolve(box('2'));
    await reading;
    informer.showsEnd(box('1'));
    expect(version()).toBeUndefined();
  });
});

describe('an index', () => {
  it('finds objects by what was written, not by what the watch still shows', async () => {
    const { informer, versions, write } = setup(box('1'));
    informer.shows(box('2', { name: 'other', uid: 'o' }));
    expect(versions('red')).toEqual(['1', '2']);
    await write(box('3', { color: 'blue' }));
    await write(box('4', { name: 'third', uid: 't', color: 'blue' }));
    expect([versions('red'), versions('blue')]).toEqual([['2'], ['3', '4']]);
    informer.shows(box('3', { color: 'blue' }));
    expect([versions('red'), versions('blue')]).toEqual([['2'], ['3', '4']]);
  });

  it('leaves out what is gone, and shows what is terminating', async () => {
    const { own, versions, write } = setup(box('1'));
    await write(box('2', { name: 'other', uid: 'o' }));
    own.recordGone(box('1'));
    own.recordDelete(box('2', { name: 'other', uid: 'o' }));
    expect(versions('red')).toEqual(['2']);
    expect([...own.listByIndex('byColor', 'red')][0]?.metadata.deletionTimestamp).toBeDefined();
  });

  it('gives what the informer gives when nothing is remembered', () => {
    const { informer, own } = setup(box('1'));
    expect([...own.listByIndex('byColor', 'red')]).toEqual([...informer.store.listByIndex('byColor', 'red')]);
    expect(() => [...own.listByIndex('bySize', '1')]).toThrow('no index');
  });
});

describe('doubt', () => {
  it('comes with a list that shows an unknown version, and not with one that shows the answer', async () => {
    const { informer, doubted, version, write } = setup(box('1'));
    await write(box('2'));
    informer.lists(box('2'));
    await write(box('3'));
    informer.lists(box('5'));
    expect([doubted, version()]).toEqual([['team/box 3'], '3']);
  });

  it('does not come with a list that shows a version known to be older', async () => {
    const { informer, doubted, version, write } = setup(box('1'));
    await write(box('2'));
    await write(box('3'));
    informer.lists(box('1'));
    informer.lists(box('2'));
    expect([doubted, version()]).toEqual([[], '3']);
  });

  it('comes with a list that lacks the object', async () => {
    const { informer, doubted, version, write } = setup();
    await write(box('2'));
    informer.lists();
    expect([doubted, version()]).toEqual([['team/box 2'], '2']);
  });

  it('comes with an answer during whose call a list may have skipped it', async () => {
    const { informer, own, doubted } = setup(box('1'));
    await own.write(KEY, () => {
      informer.lists(box('5'));
      return Promise.resolve(box('3'));
    });
    expect(doubted).toEqual(['team/box 3']);
  });

  it('comes when the watch has not shown the answer in time, and the informer is believed again', async () => {
    const { clock, doubted, version, write } = setup(box('1'));
    await write(box('2'));
    await clock.advance(KEEP_MS / 2);
    await write(box('2', { name: 'other', uid: 'o' }));
    await clock.advance(KEEP_MS / 2);
    expect([doubted, version()]).toEqual([['team/box 2'], '1']);
    await clock.advance(KEEP_MS / 2);
    expect(doubted).toEqual(['team/box 2', 'team/other 2']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('comes when the watch has not shown a deletion in time', async () => {
    const { clock, own, doubted, version } = setup(box('1'));
    own.recordGone(box('1'));
    await clock.advance(KEEP_MS);
    expect([doubted, version()]).toEqual([['team/box deleted'], '1']);
  });

  it('comes for the oldest answer when there are too many', async () => {
    const { doubted, version, write } = setup(box('1'), { maxKept: 1 });
    await write(box('2'));
    await write(box('2', { name: 'other', uid: 'o' }));
    expect([doubted, version(), version('team/other')]).toEqual([['team/box 2'], '1', '2']);
  });

  it('makes the informer be believed after a list when no handler is given', async () => {
    const { informer, version, write } = setup(box('1'), { onDoubt: undefined });
    await write(box('3'));
    informer.lists(box('5'));
    expect(version()).toBe('5');
  });

  it('about a deletion keeps a newer object of the same name', async () => {
    const { clock, own, version, write } = setup(box('1', { uid: 'former' }), { onDoubt: undefined });
    own.recordGone(box('1', { uid: 'former' }));
    await clock.advance(KEEP_MS / 2);
    await write(box('3'));
    await clock.advance(KEEP_MS / 2);
    expect(version()).toBe('3');
  });

  it('ends when a read in its handler answers what the informer shows', async () => {
    const { informer, own, version, write, read } = setup(box('1'));
    await write(box('2'));
    informer.lists(box('5'));
    await read(box('5'));
    expect(version()).toBe('5');
    expect(own.get(KEY)).toBe(informer.store.get(KEY));
  });
});

describe('the end', () => {
  it('leaves no timer and no handler behind', async () => {
    const { clock, informer, own, version, write } = setup();
    await write(box('2'));
    own[Symbol.dispose]();
    expect(clock.nextTimerMs()).toBeUndefined();
    await write(box('3', { name: 'other', uid: 'o' }));
    expect([version(), clock.nextTimerMs()]).toEqual(['2', undefined]);
    informer.shows(box('2'));
    expect(version()).toBe('2');
  });
});

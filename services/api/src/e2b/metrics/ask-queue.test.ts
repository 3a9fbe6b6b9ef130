import { describe, expect, it } from 'vitest';
import { AskQueue } from './ask-queue.ts';

/** A queue whose questions are answered by hand. */
function createQueue() {
  const queue = new AskQueue({ perNamespace: 2, inAll: 3 });
  const running: { readonly id: string; readonly answer: () => void }[] = [];
  const add = (id: string): Promise<void> => {
    const [namespace = ''] = id.split('/');
    const ask = (): Promise<void> => new Promise((resolve) => running.push({ id, answer: resolve }));
    return queue.add({ namespace, id, ask });
  };
  const list = (): readonly string[] => running.map(({ id }) => id);
  const answer = async (id: string): Promise<void> => {
    const [found] = running.splice(list().indexOf(id), 1);
    found?.answer();
    await new Promise(setImmediate);
  };
  return { add, list, answer };
}

describe('questions to daemons', () => {
  it('run a few at a time for a namespace, in their order', async () => {
    const { add, list, answer } = createQueue();
    for (const id of ['a/1', 'a/2', 'a/3', 'a/4']) void add(id);
    expect(list()).toEqual(['a/1', 'a/2']);
    await answer('a/2');
    expect(list()).toEqual(['a/1', 'a/3']);
  });

  it('of another namespace do not wait for those that get no answer', () => {
    const { add, list } = createQueue();
    for (const id of ['a/1', 'a/2', 'a/3', 'b/1']) void add(id);
    expect(list()).toEqual(['a/1', 'a/2', 'b/1']);
  });

  it('take turns by namespace where all places are taken', async () => {
    const { add, list, answer } = createQueue();
    for (const id of ['a/1', 'a/2', 'b/1', 'a/3', 'b/2', 'c/1']) void add(id);
    expect(list()).toEqual(['a/1', 'a/2', 'b/1']);
    await answer('b/1');
    await answer('b/2');
    expect(list()).toEqual(['a/1', 'a/2', 'c/1']);
    await answer('a/1');
    expect(list()).toEqual(['a/2', 'c/1', 'a/3']);
  });

  it('of one id are asked once, for all who wait', async () => {
    const { add, list, answer } = createQueue();
    const both = Promise.all([add('a/1'), add('a/1')]);
    expect(list()).toEqual(['a/1']);
    await answer('a/1');
    await both;
    void add('a/1');
    expect(list()).toEqual(['a/1']);
  });
});

import type { Change, Informer } from '../informer/informer.ts';
import type { AddOptions, WorkQueue } from '../queue/workqueue.ts';

/** Where keys come from. A manager runs the informers and connects each source to the queue of its controller. */
export interface Source {
  readonly informers: readonly Informer<unknown>[];
  connect(queue: Pick<WorkQueue, 'add' | 'addAfter'>): void;
}

export interface WatchSourceOptions<T> extends AddOptions {
  /** How long the key of a change can wait before it is looked at, milliseconds. Absent: not at all. */
  readonly delayMs?: ((change: Change<T>) => number) | undefined;
}

/** Objects that were there when we started wait behind what happens now, so that live work overtakes a restart backlog. */
const INITIAL_PRIORITY = -100;

/**
 * Adds keys for every change an informer sees. `toKeys` maps an object to the keys it concerns; of a change both the old
 * and the new object are mapped, so that a former owner hears of its loss.
 */
export function watchSource<T>(
  informer: Informer<T>,
  toKeys: (object: T, change: Change<T>) => Iterable<string>,
  options: WatchSourceOptions<T> = {},
): Source {
  return {
    informers: [informer],
    connect(queue) {
      informer.onChange((change) => {
        const priority = change.initial ? INITIAL_PRIORITY : options.priority;
        const delayMs = options.delayMs?.(change) ?? 0;
        for (const object of [change.old, change.next]) {
          if (object === undefined) continue;
          for (const key of toKeys(object, change)) {
            if (delayMs > 0) queue.addAfter(key, delayMs, { priority });
            else queue.add(key, { priority });
          }
        }
      });
    },
  };
}

export type ChannelSource = Source & {
  /** Adds a key now, or after `delayMs`. What is pushed before the source is connected is kept. */
  push(key: string, options?: AddOptions & { delayMs?: number | undefined }): void;
};

/** A source that the program itself feeds: hints from a message bus, timers, other controllers' results. */
export function channelSource(): ChannelSource {
  type Push = Parameters<ChannelSource['push']>;
  const queues: Pick<WorkQueue, 'add' | 'addAfter'>[] = [];
  const early: Push[] = [];
  return {
    informers: [],
    connect(queue) {
      queues.push(queue);
      for (const [key, options] of early.splice(0)) this.push(key, options);
    },
    push(...push) {
      const [key, { delayMs = 0, ...options } = {}] = push;
      if (queues.length === 0) early.push(push);
      for (const queue of queues) queue.addAfter(key, delayMs, options);
    },
  };
}

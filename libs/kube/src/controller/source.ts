import type { Change, Informer } from '../informer/informer.ts';
import type { AddOptions, WorkQueue } from '../queue/workqueue.ts';

/** A source of keys. A manager runs the informers, and a controller connects its sources to its queue for each term. */
export interface Source {
  readonly informers: readonly Informer<unknown>[];
  /**
   * Adds the keys of all existing objects before it returns, and then the keys of changes until it is disposed of. It
   * reads and subscribes in one turn of the event loop, so that it misses no change in between.
   */
  connect(queue: KeySink): Disposable;
}

/** The part of a queue that a source uses. */
export type KeySink = Pick<WorkQueue, 'add' | 'addAfter'>;

export interface WatchSourceOptions<T> extends AddOptions {
  /** Delay in milliseconds before the key of a change is added. Absent: none. */
  readonly delayMs?: ((change: Change<T>) => number) | undefined;
  /** Whether a client waits for the object. After a start, such objects are reconciled before the others. */
  readonly isAwaited?: ((object: T) => boolean) | undefined;
}

/** Objects of the first list have a low priority, so that live changes do not wait for the backlog of a restart. */
const INITIAL_PRIORITY = -100;
const AWAITED_PRIORITY = -50;

/**
 * Adds keys for every object of an informer on connect, and then for every change. `toKeys` maps an object to keys. It is
 * called for the old and the new object of a change, so that the key of a former owner is added as well.
 */
export function watchSource<T>(
  informer: Informer<T>,
  toKeys: (object: T, change: Change<T>) => Iterable<string>,
  options: WatchSourceOptions<T> = {},
): Source {
  const findPriority = ({ initial, next }: Change<T>): number | undefined => {
    if (!initial) return options.priority;
    return next !== undefined && options.isAwaited?.(next) === true ? AWAITED_PRIORITY : INITIAL_PRIORITY;
  };
  return {
    informers: [informer],
    connect: (queue) =>
      informer.onChange((change) => {
        const priority = findPriority(change);
        const delayMs = options.delayMs?.(change) ?? 0;
        for (const object of [change.old, change.next]) {
          if (object === undefined) continue;
          for (const key of toKeys(object, change)) {
            if (delayMs > 0) queue.addAfter(key, delayMs, { priority });
            else queue.add(key, { priority });
          }
        }
      }),
  };
}

export type ChannelSource = Source & {
  /** Adds a key now or after `delayMs`. Drops the key while no controller runs: see {@link createChannelSource}. */
  push(key: string, options?: AddOptions & { delayMs?: number | undefined }): void;
};

/**
 * A source that other code pushes keys to, for example hints from a message bus. A standby drops the keys because they
 * would otherwise accumulate without limit. So each key must belong to an object of a watch source, or `present` must
 * list all keys on connect.
 */
export function createChannelSource(present: () => Iterable<string> = () => []): ChannelSource {
  const queues = new Set<KeySink>();
  return {
    informers: [],
    connect(queue) {
      queues.add(queue);
      for (const key of present()) queue.add(key, { priority: INITIAL_PRIORITY });
      return { [Symbol.dispose]: () => void queues.delete(queue) };
    },
    push(key, { delayMs = 0, ...options } = {}) {
      for (const queue of queues) queue.addAfter(key, delayMs, options);
    },
  };
}

import type { Change, Informer } from '../informer/informer.ts';
import type { AddOptions, WorkQueue } from '../queue/workqueue.ts';

/** Where keys come from. A manager runs the informers and connects each source to its controller's queue for each term. */
export interface Source {
  readonly informers: readonly Informer<unknown>[];
  /**
   * Gives the queue, before it returns, the keys of all that is there, and then those of all that changes, until it is
   * disposed of. Both come from one turn of the event loop, so that nothing falls between them.
   */
  connect(queue: KeySink): Disposable;
}

/** What a source needs of a queue. */
export type KeySink = Pick<WorkQueue, 'add' | 'addAfter'>;

export interface WatchSourceOptions<T> extends AddOptions {
  /** How long the key of a change can wait before it is looked at, milliseconds. Absent: not at all. */
  readonly delayMs?: ((change: Change<T>) => number) | undefined;
  /** Whether a client waits for the object: at the start, such objects are reconciled before the others. */
  readonly isAwaited?: ((object: T) => boolean) | undefined;
}

/** Objects of the first list wait behind live changes, so that live work overtakes a restart backlog. */
const INITIAL_PRIORITY = -100;
const AWAITED_PRIORITY = -50;

/**
 * Adds keys for every object of an informer when it is connected, and then for every change. `toKeys` maps an object to
 * the keys it concerns; of a change both the old and the new object are mapped, so that a former owner gets its key, too.
 */
export function watchSource<T>(
  informer: Informer<T>,
  toKeys: (object: T, change: Change<T>) => Iterable<string>,
  options: WatchSourceOptions<T> = {},
): Source {
  const priorityOf = ({ initial, next }: Change<T>): number | undefined => {
    if (!initial) return options.priority;
    return next !== undefined && options.isAwaited?.(next) === true ? AWAITED_PRIORITY : INITIAL_PRIORITY;
  };
  return {
    informers: [informer],
    connect: (queue) =>
      informer.onChange((change) => {
        const priority = priorityOf(change);
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
  /** Adds a key now, or after `delayMs`. A push while no controller runs is dropped: see {@link channelSource}. */
  push(key: string, options?: AddOptions & { delayMs?: number | undefined }): void;
};

/**
 * A source that the program itself feeds: hints from a message bus, timers, other controllers' results. A standby drops
 * them, because they would pile up without end. So each key must belong to an object of a watch source, or `present` must
 * list all keys when the source is connected.
 */
export function channelSource(present: () => Iterable<string> = () => []): ChannelSource {
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

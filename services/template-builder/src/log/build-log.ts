import type { SandboxTemplateBuild } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import type { LogEntry, LogLevel } from '@sandlot/template-build';
import type { StepName } from '../run/build-failure.ts';
import type { BuildLog } from '../run/build-run.ts';
import type { LogStore } from './log-store.ts';

/** Entries of one write. */
const MOST_AT_ONCE = 500;
/** What hostile steps write goes into the memory of Redis, which all tenants share. */
const MOST_OUTPUT_BYTES = 1_048_576;
/** An entry takes about this much besides its message. */
const ENTRY_BYTES = 100;
const CUT = 'The log has no more output of this build: at most 1 MiB of it is kept';

type Done = ReturnType<typeof createDone>;

const createDone = () => Promise.withResolvers<undefined>();

/** The log of one build. What is added while a write is under way goes out with the next one, in the same order. */
export class StoredLog implements BuildLog {
  readonly #store: LogStore;
  readonly #namespace: string;
  readonly #build: string;
  readonly #clock: Pick<Clock, 'now'>;
  #waiting: { readonly entry: LogEntry; readonly done: Done }[] = [];
  #writing: Promise<void> | undefined;
  #restBytes: number;

  constructor(store: LogStore, { metadata, status }: SandboxTemplateBuild, clock: Pick<Clock, 'now'>) {
    this.#store = store;
    this.#namespace = metadata.namespace ?? '';
    this.#build = metadata.uid ?? '';
    this.#clock = clock;
    // A step that kills its sandbox has the build tried again and again: all attempts together have twice the limit at most.
    this.#restBytes = MOST_OUTPUT_BYTES / 2 ** Math.max(0, (status?.attempt ?? 1) - 1);
  }

  /** Makes room for it. */
  begin(): Promise<void> {
    return this.#store.begin(this.#namespace, this.#build, this.#clock.now());
  }

  add(level: LogLevel, message: string, step?: StepName): Promise<void> {
    const timestamp = new Date(this.#clock.now()).toISOString();
    const done = createDone();
    this.#waiting.push({ entry: { timestamp, level, message, ...(step !== undefined && { step }) }, done });
    this.#writing ??= this.#write();
    return done.promise;
  }

  /** The next `add` waits for it. What is beyond the limit is left out. */
  addOutput(level: LogLevel, message: string, step: StepName): void {
    if (this.#restBytes <= 0) return;
    this.#restBytes -= Buffer.byteLength(message) + ENTRY_BYTES;
    // A write that fails is repeated by no one: the next `add` fails too, and with it the attempt.
    this.add(level, message, step).catch(() => undefined);
    if (this.#restBytes <= 0) this.add('warn', CUT, step).catch(() => undefined);
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MOST_AT_ONCE);
      try {
        await this.#store.append(
          this.#build,
          batch.map(({ entry }) => entry),
        );
        for (const { done } of batch) done.resolve(undefined);
      } catch (error) {
        for (const { done } of batch) done.reject(error);
      }
    }
    this.#writing = undefined;
  }
}

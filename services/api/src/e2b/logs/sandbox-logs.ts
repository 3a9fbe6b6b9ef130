import { getPodName } from '@sandlot/api-types';
import type { Clock, Logger } from '@sandlot/std';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { getState } from '../../state/sandbox-state.ts';
import { AskQueue } from '../metrics/ask-queue.ts';
import type { LogLine } from './lines.ts';
import { PodLog } from './pod-logs.ts';
import type { PodLogsDeps } from './pod-logs.ts';
import { readProcessRecords } from './process-records.ts';
import type { RecordDeps } from './process-records.ts';
import { readBackward } from './read-backward.ts';
import { readForward } from './read-forward.ts';
import type { LogRead, LogSources } from './sources.ts';
import type { LogStore } from './store/log-store.ts';
import { openOlder } from './store/older.ts';
import type { OlderLines, PodInStore } from './store/older.ts';

export interface SandboxLogsDeps extends PodLogsDeps, RecordDeps {
  /** Undefined: logs end with their Pods. */
  readonly logStore: LogStore | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

/** Logs of sandboxes, from their nodes, their daemons and the store: a few at a time for a namespace. */
export class SandboxLogs {
  readonly #deps: SandboxLogsDeps;
  readonly #queue = new AskQueue();
  #reads = 0;

  constructor(deps: SandboxLogsDeps) {
    this.#deps = deps;
  }

  /**
   * The lines of a sandbox that is there; without a store none while it is paused. Throws an ApiError 403 where the API may not read logs, and
   * rejects with a KubeError.
   */
  read(claimed: ClaimedSandbox, wanted: LogRead): Promise<readonly LogLine[]> {
    return this.#ask(claimed.claim.metadata.namespace ?? '', wanted.signal, async () => {
      const sources = await this.#openSources(claimed, wanted);
      return wanted.direction === 'forward' ? readForward(sources, wanted) : readBackward(sources, wanted);
    });
  }

  /** The lines of a Pod that is gone. Rejects with an ApiError 503 when the store does not answer. */
  readStored(store: LogStore, place: PodInStore, wanted: LogRead): Promise<readonly LogLine[]> {
    return this.#ask(place.namespace, wanted.signal, () => {
      const older = openOlder(store, place, wanted);
      const sources = { pod: undefined, records: { lines: [], untilMs: undefined }, older };
      return wanted.direction === 'forward' ? readForward(sources, wanted) : readBackward(sources, wanted);
    });
  }

  async #openSources(claimed: ClaimedSandbox, wanted: LogRead): Promise<LogSources> {
    const { sandbox, claim } = claimed;
    const { signal } = wanted;
    // Asked before the node: what the container prints after the time that the daemon gives belongs to the next answer.
    const fromMs = wanted.direction === 'forward' ? (wanted.from ?? 0) : 0;
    const records = await readProcessRecords(this.#deps, claimed, { fromMs, signal });
    if (sandbox === undefined) return { pod: undefined, records, older: undefined };
    const pod = getState(sandbox) === 'paused' ? undefined : new PodLog(this.#deps, sandbox, signal);
    const { logStore, clock, log } = this.#deps;
    if (logStore === undefined) return { pod, records, older: undefined };
    const sinceMs = Date.parse(sandbox.metadata.creationTimestamp ?? '');
    const place = {
      namespace: claim.metadata.namespace ?? '',
      pod: getPodName(sandbox),
      sandboxUid: sandbox.metadata.uid,
    };
    const own = { ...place, sinceMs, untilMs: clock.now() };
    const older = openOlder(logStore, own, wanted);
    return { pod, records, older: pod === undefined ? older : orNothing(older, log) };
  }

  /** No lines if the client has left before its turn. */
  async #ask(
    namespace: string,
    signal: AbortSignal,
    read: () => Promise<readonly LogLine[]>,
  ): Promise<readonly LogLine[]> {
    let outcome: Promise<readonly LogLine[]> = Promise.resolve([]);
    const ask = async (): Promise<void> => {
      if (signal.aborted) return;
      outcome = read();
      await outcome.catch(() => undefined);
    };
    this.#reads += 1;
    await this.#queue.add({ namespace, id: String(this.#reads), ask });
    return outcome;
  }
}

/** While the store is away, a running sandbox has the log of its node. */
function orNothing(older: OlderLines, log: Logger): OlderLines {
  return async (range) => {
    try {
      return await older(range);
    } catch {
      log.warn({}, 'the log of a running sandbox is answered without its older lines');
      return { lines: [], isWhole: true };
    }
  };
}

import { ExportResultCode } from '@opentelemetry/core';
import type { ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock } from '@sandlot/std';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

export interface PatientExporterOptions {
  readonly exporter: SpanExporter;
  readonly clock: Clock;
  /** Spans kept while the receiver is away. Beyond that the oldest batches are dropped. */
  readonly maxSpans: number;
  /** Called for dropped spans: refused, too many, or left at shutdown. */
  readonly onLost: (spans: number) => void;
}

/**
 * Keeps batches while the receiver is away and sends them in order once it is back: a restart of the collector costs no
 * trace. A batch that it refuses (4xx) is not sent again.
 */
export class PatientExporter implements SpanExporter {
  readonly #options: PatientExporterOptions;
  readonly #kept: ReadableSpan[][] = [];
  readonly #stop = new AbortController();
  #keptSpans = 0;
  #catchingUp: Promise<void> | undefined;
  #sending: Promise<boolean> | undefined;

  constructor(options: PatientExporterOptions) {
    this.#options = options;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    if (this.#catchingUp !== undefined) {
      this.#keep(spans);
      done({ code: ExportResultCode.SUCCESS });
      return;
    }
    this.#options.exporter.export(spans, (result) => {
      if (isRefused(result)) this.#options.onLost(spans.length);
      else if (result.code !== ExportResultCode.SUCCESS) {
        this.#keep(spans);
        this.#catchingUp ??= this.#catchUp();
      }
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#sendKept();
    await this.#options.exporter.forceFlush?.();
  }

  /** Tries to send the kept batches once; the rest is lost. */
  async shutdown(): Promise<void> {
    this.#stop.abort();
    await this.#catchingUp;
    await this.#sendKept();
    if (this.#keptSpans > 0) this.#options.onLost(this.#keptSpans);
    await this.#options.exporter.shutdown();
  }

  #keep(spans: ReadableSpan[]): void {
    this.#kept.push(spans);
    this.#keptSpans += spans.length;
    while (this.#keptSpans > this.#options.maxSpans) this.#options.onLost(this.#dropOldest());
  }

  #dropOldest(): number {
    const { length } = this.#kept.shift() ?? [];
    this.#keptSpans -= length;
    return length;
  }

  async #catchUp(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    let pauseMs = FIRST_PAUSE_MS;
    do {
      await clock.sleep(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    } while (!signal.aborted && !(await this.#sendKept()));
    this.#catchingUp = undefined;
  }

  /** Sends the kept batches; true when none is left. One run at a time, so that no batch is sent twice. */
  #sendKept(): Promise<boolean> {
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
    return this.#sending;
  }

  async #sendAll(): Promise<boolean> {
    for (;;) {
      const [batch] = this.#kept;
      if (batch === undefined) return true;
      const result = await this.#send(batch);
      const isTaken = result.code === ExportResultCode.SUCCESS;
      if (!isTaken && !isRefused(result)) return false;
      // The batch may have been dropped meanwhile to make room.
      if (this.#kept[0] === batch) this.#dropOldest();
      if (!isTaken) this.#options.onLost(batch.length);
    }
  }

  #send(batch: ReadableSpan[]): Promise<ExportResult> {
    return new Promise((resolve) => this.#options.exporter.export(batch, resolve));
  }
}

/** Whether the receiver refused the batch: a retry would get the same answer. */
function isRefused({ code, error }: ExportResult): boolean {
  if (code === ExportResultCode.SUCCESS || error === undefined || !('code' in error)) return false;
  const { code: status } = error;
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

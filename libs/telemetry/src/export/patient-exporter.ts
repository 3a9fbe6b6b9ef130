import { ExportResultCode } from '@opentelemetry/core';
import type { ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock } from '@sandlot/std';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

export interface PatientExporterOptions {
  readonly exporter: SpanExporter;
  readonly clock: Clock;
  /** Spans kept while the receiver is away; the oldest batches go first when there are more. */
  readonly maxSpans: number;
  /** Called for spans that are given up: refused, too many, or still there at the end. */
  readonly onLost: (spans: number) => void;
}

/**
 * Keeps what a receiver that is away did not take, and sends it in order once it is back: a collector that restarts
 * costs no trace. What it refuses (4xx) is not sent again.
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

  /** Sends what is kept as far as the receiver takes it now; the rest is lost. */
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

  /** Sends until nothing is kept, which it then tells, or the receiver does not answer. One at a time: none is sent twice. */
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
      // It may have been dropped meanwhile, to make room.
      if (this.#kept[0] === batch) this.#dropOldest();
      if (!isTaken) this.#options.onLost(batch.length);
    }
  }

  #send(batch: ReadableSpan[]): Promise<ExportResult> {
    return new Promise((resolve) => this.#options.exporter.export(batch, resolve));
  }
}

/** The receiver answered, and will give the same answer again. */
function isRefused({ code, error }: ExportResult): boolean {
  if (code === ExportResultCode.SUCCESS || error === undefined || !('code' in error)) return false;
  const { code: status } = error;
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

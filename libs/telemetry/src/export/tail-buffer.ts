import { TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { pacing } from '@sandlot/pacing';
import type { Clock, Timer } from '@sandlot/std';

export interface TailBufferOptions {
  /** Receives the kept spans, marked as sampled. */
  readonly next: SpanProcessor;
  readonly clock: Clock;
  /** The most spans held for all undecided traces together. */
  readonly maxSpans: number;
  /** Called for dropped spans of undecided traces. */
  readonly onUndecided: (spans: number) => void;
}

/** No decision comes for an older trace: its operation ended in another process, or this one missed the end. */
const LONGEST_MS = 15 * 60_000;

/** One operation has fewer spans than this. */
const MAX_SPANS_OF_TRACE = 256;

/** Decisions kept for spans that end after their operation. */
const MAX_DECISIONS = 4_096;

/** Exports a held span. */
type Export = () => void;

interface Held {
  readonly sinceMs: number;
  readonly spans: Export[];
}

/**
 * Holds the spans of unsampled traces until their operation ends, and exports them when it was slow or failed. Spans of
 * sampled traces pass at once, those of kept traces a little later. Bounded in spans and in time; the oldest trace is dropped
 * first.
 */
export class TailBuffer implements SpanProcessor {
  readonly #options: TailBufferOptions;
  readonly #held = new Map<string, Held>();
  readonly #decisions = new Map<string, boolean>();
  #spans = 0;
  /** Spans of kept traces. */
  #leaving: Export[] = [];
  #timer: Timer | undefined;
  #isLeaving = false;

  constructor(options: TailBufferOptions) {
    this.#options = options;
  }

  onStart(): void {
    // Only the end of a span counts.
  }

  onEnd(span: ReadableSpan): void {
    const { traceId, traceFlags } = span.spanContext();
    if ((traceFlags & TraceFlags.SAMPLED) !== 0) {
      this.#options.next.onEnd(span);
      return;
    }
    this.hold(traceId, () => this.#options.next.onEnd(asSampled(span)));
  }

  /** Exports or drops an ended span of an unsampled trace, or holds it until the decision. */
  hold(traceId: string, exportSpan: Export): void {
    const decision = this.#decisions.get(traceId);
    if (decision === undefined) this.#keep(traceId, exportSpan);
    else if (decision) this.#leave([exportSpan]);
  }

  /** Decides about a trace when its operation has ended: its held spans and later ones are exported or dropped. */
  decide(traceId: string, keep: boolean): void {
    const held = this.#take(traceId);
    // A kept trace stays kept: a later operation in it must not tear it apart.
    const decision = keep || this.#decisions.get(traceId) === true;
    this.#decisions.delete(traceId);
    this.#decisions.set(traceId, decision);
    const [oldest] = this.#decisions.keys();
    if (this.#decisions.size > MAX_DECISIONS && oldest !== undefined) this.#decisions.delete(oldest);
    if (keep) this.#leave(held);
  }

  forceFlush(): Promise<void> {
    this.#export(this.#leaving.length);
    return this.#options.next.forceFlush();
  }

  shutdown(): Promise<void> {
    this.#timer?.cancel();
    this.#export(this.#leaving.length);
    return this.#options.next.shutdown();
  }

  #leave(spans: readonly Export[]): void {
    // An export may end further spans of a kept trace.
    if (this.#isLeaving) {
      for (const exportSpan of spans) exportSpan();
      return;
    }
    this.#leaving.push(...spans);
    this.#export(this.#leaving.length - this.#options.maxSpans);
    this.#wait(pacing.traceExport.delayMs);
  }

  #wait(delayMs: number): void {
    if (this.#leaving.length === 0) return;
    this.#timer ??= this.#options.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#export(pacing.traceExport.spansTogether);
      this.#wait(pacing.traceExport.pauseMs);
    }, delayMs);
  }

  /** Exports the oldest spans. */
  #export(count: number): void {
    if (count <= 0) return;
    this.#isLeaving = true;
    try {
      for (const exportSpan of this.#leaving.splice(0, count)) exportSpan();
    } finally {
      this.#isLeaving = false;
    }
  }

  #keep(traceId: string, exportSpan: Export): void {
    const nowMs = this.#options.clock.monotonic();
    const held = this.#held.get(traceId) ?? { sinceMs: nowMs, spans: [] };
    this.#held.set(traceId, held);
    if (held.spans.length >= MAX_SPANS_OF_TRACE) {
      this.#options.onUndecided(1);
      return;
    }
    held.spans.push(exportSpan);
    this.#spans += 1;
    this.#makeRoom(nowMs);
  }

  #makeRoom(nowMs: number): void {
    for (const [traceId, { sinceMs }] of this.#held) {
      if (this.#spans <= this.#options.maxSpans && nowMs - sinceMs < LONGEST_MS) return;
      this.#options.onUndecided(this.#take(traceId).length);
    }
  }

  #take(traceId: string): Export[] {
    const spans = this.#held.get(traceId)?.spans ?? [];
    this.#held.delete(traceId);
    this.#spans -= spans.length;
    return spans;
  }
}

/** The span with the sampled flag: processors and backends drop others. */
function asSampled(span: ReadableSpan): ReadableSpan {
  const spanContext = { ...span.spanContext(), traceFlags: TraceFlags.SAMPLED };
  return Object.create(span, { spanContext: { value: () => spanContext } }) as ReadableSpan;
}

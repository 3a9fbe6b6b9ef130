import { TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { pacing } from '@sandlot/pacing';
import type { Clock, Timer } from '@sandlot/std';

export interface TailBufferOptions {
  /** Takes what is kept; every span it is given is marked as sampled. */
  readonly next: SpanProcessor;
  readonly clock: Clock;
  /** Spans held for all undecided traces together. */
  readonly maxSpans: number;
  /** Called for spans whose trace was never decided about. */
  readonly onUndecided: (spans: number) => void;
}

/** Nobody decides any more about a trace this old: its operation ended elsewhere, or this process was too slow to see it. */
const LONGEST_MS = 15 * 60_000;

/** A trace that has more than this is no single operation. */
const MAX_SPANS_OF_TRACE = 256;

/** Decisions remembered for the spans that end after their operation. */
const MAX_DECISIONS = 4_096;

/** Exports a span that was held. */
type Export = () => void;

interface Held {
  readonly sinceMs: number;
  readonly spans: Export[];
}

/**
 * Decides about traces that were not sampled at their beginning when their operation has ended: their spans are held until
 * then, and kept when it was slow or has failed. Spans of sampled traces pass at once, those of kept ones a little later. Bounded
 * in spans and in time; the oldest trace goes first.
 */
export class TailBuffer implements SpanProcessor {
  readonly #options: TailBufferOptions;
  readonly #held = new Map<string, Held>();
  readonly #decisions = new Map<string, boolean>();
  #spans = 0;
  /** Of traces that are kept. */
  #leaving: Export[] = [];
  #timer: Timer | undefined;
  #isLeaving = false;

  constructor(options: TailBufferOptions) {
    this.#options = options;
  }

  onStart(): void {
    // Spans count when they end.
  }

  onEnd(span: ReadableSpan): void {
    const { traceId, traceFlags } = span.spanContext();
    if ((traceFlags & TraceFlags.SAMPLED) !== 0) {
      this.#options.next.onEnd(span);
      return;
    }
    this.hold(traceId, () => this.#options.next.onEnd(asSampled(span)));
  }

  /** A span of a trace that was not sampled is over: exported, dropped, or held until that is known. */
  hold(traceId: string, exportSpan: Export): void {
    const decision = this.#decisions.get(traceId);
    if (decision === undefined) this.#keep(traceId, exportSpan);
    else if (decision) this.#leave([exportSpan]);
  }

  /** The operation of this trace has ended: what is held of it, and what ends from now on, is exported or dropped. */
  decide(traceId: string, keep: boolean): void {
    const held = this.#take(traceId);
    // Once kept, a trace stays kept: a later operation in it must not tear it.
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
    // What is made only as it leaves ends in a trace that is kept.
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

  /** Exports the oldest. */
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

/** The same span as one of a sampled trace: processors and backends drop others. */
function asSampled(span: ReadableSpan): ReadableSpan {
  const spanContext = { ...span.spanContext(), traceFlags: TraceFlags.SAMPLED };
  return Object.create(span, { spanContext: { value: () => spanContext } }) as ReadableSpan;
}

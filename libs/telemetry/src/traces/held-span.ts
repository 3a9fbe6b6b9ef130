import { TraceFlags, context, trace } from '@opentelemetry/api';
import type {
  AnyValue,
  Attributes,
  Context,
  Exception,
  Link,
  Span,
  SpanContext,
  SpanStatus,
  TraceState,
} from '@opentelemetry/api';
import { createSpanId, withIds } from './identity.ts';
import type { TracingState } from './tracing-state.ts';
import { wallMs } from './wall.ts';

/** The parts of a span of the SDK. */
type Start = (
  name: string,
  options: { startTime: number; attributes: Attributes; links: Link[] },
  from: Context,
) => Span;

export interface HeldSpanInput {
  readonly name: string;
  readonly parent: Context;
  readonly attributes?: Attributes | undefined;
  readonly links?: readonly Link[] | undefined;
  readonly state: TracingState;
  readonly start: Start;
}

/**
 * A span of an unsampled trace. It only records, and becomes a span of the SDK with the same id and times if its trace is
 * kept. Most are not, and recording costs a fraction.
 */
export class HeldSpan implements Span {
  readonly #input: HeldSpanInput;
  readonly #context: SpanContext;
  readonly #startMs = wallMs();
  readonly #attributes: Attributes;
  readonly #links: Link[];
  #laterLinks: (() => Link | undefined)[] = [];
  #name: string;
  #status: SpanStatus | undefined;
  #exceptions: (readonly [Exception, number])[] = [];
  #isOver = false;

  constructor(input: HeldSpanInput, { traceId, traceState }: SpanContext) {
    this.#input = input;
    this.#name = input.name;
    this.#attributes = { ...input.attributes };
    this.#links = [...(input.links ?? [])];
    this.#context = new HeldContext(traceId, traceState);
  }

  spanContext(): SpanContext {
    return this.#context;
  }

  setAttribute(key: string, value: AnyValue): this {
    this.#attributes[key] = value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    Object.assign(this.#attributes, attributes);
    return this;
  }

  /** No span of ours has any. */
  addEvent(): this {
    return this;
  }

  addLink(link: Link): this {
    this.#links.push(link);
    return this;
  }

  addLinks(links: Link[]): this {
    this.#links.push(...links);
    return this;
  }

  /** A link that is computed only if the span is exported. */
  addLinkLater(link: () => Link | undefined): void {
    this.#laterLinks.push(link);
  }

  setStatus(status: SpanStatus): this {
    this.#status = status;
    return this;
  }

  updateName(name: string): this {
    this.#name = name;
    return this;
  }

  isRecording(): boolean {
    return !this.#isOver;
  }

  recordException(exception: Exception): void {
    this.#exceptions.push([exception, wallMs()]);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const endMs = wallMs();
    this.#input.state.hold(this.#context.traceId, () => this.#make(endMs));
  }

  #make(endMs: number): void {
    const { parent, start } = this.#input;
    const later = this.#laterLinks.map((link) => link()).filter((link) => link !== undefined);
    const options = { startTime: this.#startMs, attributes: this.#attributes, links: [...this.#links, ...later] };
    const span = withIds({ spanId: this.#context.spanId }, () => start(this.#name, options, parent));
    for (const [exception, ms] of this.#exceptions) span.recordException(exception, ms);
    if (this.#status !== undefined) span.setStatus(this.#status);
    span.end(endMs);
  }
}

/** Most spans of a dropped trace never need an id. */
class HeldContext implements SpanContext {
  readonly traceId: string;
  readonly traceFlags = TraceFlags.NONE;
  readonly traceState?: TraceState;
  #spanId: string | undefined;

  constructor(traceId: string, traceState: TraceState | undefined) {
    this.traceId = traceId;
    if (traceState !== undefined) this.traceState = traceState;
  }

  get spanId(): string {
    return (this.#spanId ??= createSpanId());
  }
}

/** The span context of `from` when its trace is unsampled. */
export function findUnsampled(from: Context = context.active()): SpanContext | undefined {
  const span = trace.getSpanContext(from);
  return span === undefined || (span.traceFlags & TraceFlags.SAMPLED) !== 0 ? undefined : span;
}

import { ROOT_CONTEXT, SpanStatusCode, TraceFlags, context, trace } from '@opentelemetry/api';
import type { Attributes, Context, Link, SpanContext, TraceState } from '@opentelemetry/api';
import { TraceState as NewTraceState } from '@opentelemetry/core';
import { carrier } from './carrier.ts';
import { HeldSpan, unsampledIn } from './held-span.ts';
import { spanIdOf, traceIdOf, withIds } from './identity.ts';
import { tracer } from './spans.ts';
import type { SpanName } from './spans.ts';
import { tracingState } from './tracing-state.ts';
import type { SlowLimits, TracingState } from './tracing-state.ts';

export interface OperationInput {
  readonly name: SpanName;
  /** UID of the object it happens to. */
  readonly uid: string;
  /** Tells operations of one name on one object apart; absent: there is only one. */
  readonly marker?: string | undefined;
  /** The annotation's text that the operation goes on from. Missing or malformed: a trace of its own. */
  readonly carried?: string | undefined;
  /** When it began, epoch milliseconds; travels along, so that every process judges its length alike. */
  readonly startMs?: number | undefined;
}

/** What a user asked for, from its beginning to its end: one span, of which all others of its trace are children. */
export interface Operation {
  readonly name: SpanName;
  readonly span: SpanContext;
  /** What the operation's span itself is a child of: the client's, another process's, or nothing. */
  readonly parent: Context;
  /** The parent of what belongs to the operation. Its span is made at its end, so it can be named long before. */
  readonly context: Context;
  /** When the operation that this one belongs to began, if the annotation tells. */
  readonly carriedStartMs: number | undefined;
}

/** Of `tracestate`: when the operation began. */
const VENDOR = 'sandlot';

/** The operation as any process derives it from the object alone; undefined while tracing is off. */
export function operationOf(input: OperationInput): Operation | undefined {
  const state = tracingState();
  if (state === undefined) return undefined;
  const { name, uid, marker = '' } = input;
  const spanId = spanIdOf(uid, `${name}/${marker}`);
  const given = carrier.extract(input.carried);
  const from = given === undefined ? undefined : trace.getSpanContext(given);
  const span = { ...beginOf(input, from, state), spanId, ...stateWith(from?.traceState, input.startMs) };
  // An object that came without a trace is given the one of its own operation: that is no parent of itself.
  const parent = given === undefined || from?.spanId === spanId ? ROOT_CONTEXT : given;
  const forChildren = trace.setSpanContext(ROOT_CONTEXT, span);
  return { name, span, parent, context: forChildren, carriedStartMs: startIn(from?.traceState) };
}

/** What the operation goes on from says whether its trace is sampled; else its own trace id does, to every process alike. */
function beginOf(
  { name, uid, marker }: OperationInput,
  from: SpanContext | undefined,
  state: TracingState,
): Pick<SpanContext, 'traceId' | 'traceFlags'> {
  if (from !== undefined) return { traceId: from.traceId, traceFlags: from.traceFlags & TraceFlags.SAMPLED };
  const traceId = traceIdOf(marker === undefined ? uid : `${uid}/${name}/${marker}`);
  return { traceId, traceFlags: state.isInRatio(traceId) ? TraceFlags.SAMPLED : TraceFlags.NONE };
}

function stateWith(given: TraceState | undefined, startMs: number | undefined): { traceState?: TraceState } {
  if (startMs === undefined) return given === undefined ? {} : { traceState: given };
  return { traceState: (given ?? new NewTraceState()).set(VENDOR, `s:${Math.floor(startMs).toString(36)}`) };
}

function startIn(given: TraceState | undefined): number | undefined {
  const [, text] = /^s:([0-9a-z]{1,11})$/.exec(given?.get(VENDOR) ?? '') ?? [];
  return text === undefined ? undefined : Number.parseInt(text, 36);
}

export interface SpanRecord {
  readonly name: SpanName;
  /** Default random. */
  readonly spanId?: string | undefined;
  readonly parent: Context;
  /** Epoch milliseconds; fractions count. */
  readonly startMs: number;
  /** A span cannot end before it has begun: then it takes no time. */
  readonly endMs: number;
  readonly attributes?: Attributes | undefined;
  readonly links?: readonly Link[] | undefined;
  /** Why it failed; absent when it did not. */
  readonly error?: string | undefined;
}

/** Makes a span of something that is over, with the times it really had. Nothing while tracing is off. */
export function recordSpan(record: SpanRecord): void {
  const state = tracingState();
  if (state === undefined) return;
  const unsampled = unsampledIn(record.parent);
  if (unsampled === undefined) finish(record, {});
  else state.hold(unsampled.traceId, () => finish(record, {}));
}

function finish(record: SpanRecord, { traceId }: { readonly traceId?: string }): void {
  const { name, spanId, parent, startMs, endMs, attributes, links = [], error } = record;
  const options = { startTime: startMs, links: [...links], ...(attributes === undefined ? {} : { attributes }) };
  const span = withIds({ spanId, traceId }, () => tracer().startSpan(name, options, parent));
  if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  span.end(Math.max(startMs, endMs));
}

export type Ending = Omit<SpanRecord, 'name' | 'parent' | 'spanId'> & {
  /** Whether the trace is exported also when it was not sampled. What failed always is. */
  readonly isSlow: boolean;
};

/** Makes the span of the whole operation and decides about its trace. Call it last: what is open then may lie outside. */
export function endOperation(operation: Operation, ending: Ending): void {
  const { name, span, parent } = operation;
  const state = tracingState();
  if (state === undefined) return;
  const { traceId, spanId } = span;
  const make = (): void => finish({ ...ending, name, parent, spanId }, { traceId });
  if (isSampled(operation)) make();
  else state.hold(traceId, make);
  state.decide(traceId, ending.isSlow || ending.error !== undefined);
}

/** Whether so long is slow, milliseconds. Never while tracing is off. */
export function isSlow(kind: keyof SlowLimits, durationMs: number): boolean {
  const state = tracingState();
  return state !== undefined && durationMs >= state.slow[kind];
}

/** Whether the operation's trace is exported whatever becomes of it. */
export function isSampled({ span }: Operation): boolean {
  return (span.traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** A link to a trace that others make, such as the one in which a pool member was warmed. */
export function linkTo(operation: Operation | undefined): Link[] {
  return operation === undefined ? [] : [{ context: operation.span }];
}

/** A link to whatever operation a context is of. */
export function linkToContext(from: Context | undefined): Link[] {
  const span = from === undefined ? undefined : trace.getSpanContext(from);
  return span === undefined ? [] : [{ context: span }];
}

/** The context in an annotation's text, perhaps only if its trace is sampled; undefined while tracing is off. */
export function carriedContext(text: string | undefined, which: 'any' | 'sampled' = 'any'): Context | undefined {
  const from = tracingState() === undefined ? undefined : carrier.extract(text);
  const { traceFlags = TraceFlags.NONE } = (from === undefined ? undefined : trace.getSpanContext(from)) ?? {};
  return which === 'any' || (traceFlags & TraceFlags.SAMPLED) !== 0 ? from : undefined;
}

/** Links the active span, if it is recorded, to the trace of an operation that others make. */
export function linkActiveSpan(operation: () => Operation | undefined): void {
  const span = trace.getActiveSpan();
  const link = (): Link | undefined => linkTo(operation())[0];
  if (span instanceof HeldSpan) span.addLinkLater(link);
  else if (span?.isRecording() === true) span.addLinks([link()].filter((one) => one !== undefined));
}

/** Runs `work` in a context: what it logs, publishes and schedules carries the trace, and its spans are children. */
export function inContext<T>(parent: Context, work: () => Promise<T>): Promise<T> {
  return context.with(parent, work);
}

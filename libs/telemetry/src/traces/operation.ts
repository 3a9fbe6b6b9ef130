import { ROOT_CONTEXT, SpanStatusCode, TraceFlags, context, trace } from '@opentelemetry/api';
import type { Attributes, Context, Link, SpanContext, TraceState } from '@opentelemetry/api';
import { TraceState as NewTraceState } from '@opentelemetry/core';
import { carrier } from './carrier.ts';
import { HeldSpan, findUnsampled } from './held-span.ts';
import { getSpanId, buildTraceId, withIds } from './identity.ts';
import { tracer } from './spans.ts';
import type { SpanName } from './spans.ts';
import { buildTracingState } from './tracing-state.ts';
import type { SlowLimits, TracingState } from './tracing-state.ts';

export interface OperationInput {
  readonly name: SpanName;
  /** UID of the object. */
  readonly uid: string;
  /** Distinguishes operations of one name on one object; absent when there is only one. */
  readonly marker?: string | undefined;
  /** The text of the annotation that the operation continues. Missing or malformed: it gets a trace of its own. */
  readonly carried?: string | undefined;
  /** Start of the operation, epoch milliseconds. It is passed on, so that every process measures the same duration. */
  readonly startMs?: number | undefined;
}

/** A user's request from start to end: one span, the ancestor of all others in its trace. */
export interface Operation {
  readonly name: SpanName;
  readonly span: SpanContext;
  /** The parent of the operation's span: a span of the client or of another process, or none. */
  readonly parent: Context;
  /** The parent of the operation's work. Its span is created at the end, but its id is known from the start. */
  readonly context: Context;
  /** Start of the operation that this one belongs to, if the annotation has it. */
  readonly carriedStartMs: number | undefined;
}

/** Key of `tracestate` with the start of the operation. */
const VENDOR = 'sandlot';

/** The operation, derived only from the object, so equally in every process; undefined while tracing is off. */
export function findOperation(input: OperationInput): Operation | undefined {
  const state = buildTracingState();
  if (state === undefined) return undefined;
  const { name, uid, marker = '' } = input;
  const spanId = getSpanId(uid, `${name}/${marker}`);
  const given = carrier.extract(input.carried);
  const from = given === undefined ? undefined : trace.getSpanContext(given);
  const span = { ...getBegin(input, from, state), spanId, ...buildTraceState(from?.traceState, input.startMs) };
  // An object without a trace gets that of its own operation, which must not become its own parent.
  const parent = given === undefined || from?.spanId === spanId ? ROOT_CONTEXT : given;
  const forChildren = trace.setSpanContext(ROOT_CONTEXT, span);
  return { name, span, parent, context: forChildren, carriedStartMs: startIn(from?.traceState) };
}

/** The carried context decides about sampling, else the operation's own trace id, equally in every process. */
function getBegin(
  { name, uid, marker }: OperationInput,
  from: SpanContext | undefined,
  state: TracingState,
): Pick<SpanContext, 'traceId' | 'traceFlags'> {
  if (from !== undefined) return { traceId: from.traceId, traceFlags: from.traceFlags & TraceFlags.SAMPLED };
  const traceId = buildTraceId(marker === undefined ? uid : `${uid}/${name}/${marker}`);
  return { traceId, traceFlags: state.isInRatio(traceId) ? TraceFlags.SAMPLED : TraceFlags.NONE };
}

function buildTraceState(given: TraceState | undefined, startMs: number | undefined): { traceState?: TraceState } {
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
  /** Epoch milliseconds, with fractions. */
  readonly startMs: number;
  /** An end before the start counts as the start. */
  readonly endMs: number;
  readonly attributes?: Attributes | undefined;
  readonly links?: readonly Link[] | undefined;
  /** The reason of a failure; absent for a success. */
  readonly error?: string | undefined;
}

/** Records a span of past work with its real times. Does nothing while tracing is off. */
export function recordSpan(record: SpanRecord): void {
  const state = buildTracingState();
  if (state === undefined) return;
  const unsampled = findUnsampled(record.parent);
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
  /** Whether an unsampled trace is exported, too. That of a failed operation always is. */
  readonly isSlow: boolean;
};

/** Records the span of the whole operation and decides about its trace. Call it last: open spans may end after it. */
export function endOperation(operation: Operation, ending: Ending): void {
  const { name, span, parent } = operation;
  const state = buildTracingState();
  if (state === undefined) return;
  const { traceId, spanId } = span;
  const make = (): void => finish({ ...ending, name, parent, spanId }, { traceId });
  if (isSampled(operation)) make();
  else state.hold(traceId, make);
  state.decide(traceId, ending.isSlow || ending.error !== undefined);
}

/** Whether a duration in milliseconds is slow. False while tracing is off. */
export function isSlow(kind: keyof SlowLimits, durationMs: number): boolean {
  const state = buildTracingState();
  return state !== undefined && durationMs >= state.slow[kind];
}

/** Whether the operation's trace is exported however it ends. */
export function isSampled({ span }: Operation): boolean {
  return (span.traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** A link to another trace, such as the one in which a pool member was created. */
export function linkTo(operation: Operation | undefined): Link[] {
  return operation === undefined ? [] : [{ context: operation.span }];
}

/** A link to the operation of a context. */
export function linkToContext(from: Context | undefined): Link[] {
  const span = from === undefined ? undefined : trace.getSpanContext(from);
  return span === undefined ? [] : [{ context: span }];
}

/** The context in the text of an annotation; with `sampled` only of a sampled trace. Undefined while tracing is off. */
export function parseCarriedContext(text: string | undefined, which: 'any' | 'sampled' = 'any'): Context | undefined {
  const from = buildTracingState() === undefined ? undefined : carrier.extract(text);
  const { traceFlags = TraceFlags.NONE } = (from === undefined ? undefined : trace.getSpanContext(from)) ?? {};
  return which === 'any' || (traceFlags & TraceFlags.SAMPLED) !== 0 ? from : undefined;
}

/** Links the active span, if it is recorded, to the trace of another operation. */
export function linkActiveSpan(operation: () => Operation | undefined): void {
  const span = trace.getActiveSpan();
  const link = (): Link | undefined => linkTo(operation())[0];
  if (span instanceof HeldSpan) span.addLinkLater(link);
  else if (span?.isRecording() === true) span.addLinks([link()].filter((one) => one !== undefined));
}

/** Runs `work` in a context: its logs, events and jobs carry the trace, and its spans are children. */
export function runInContext<T>(parent: Context, work: () => Promise<T>): Promise<T> {
  return context.with(parent, work);
}

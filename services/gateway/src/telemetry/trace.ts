import {
  parseCarriedContext,
  linkToContext,
  recordSpan,
  spanAttributes,
  spanNames,
  withSpan,
} from '@sandlot/telemetry';
import type { SandboxRef } from '../directory/target.ts';
import type { Request } from '../proxy/messages.ts';

/** What the gateway does with a client's trace context: links its own traces to it, or makes it the parent of its spans. */
export type ClientTraces = 'link' | 'parent';

/** The trace context that came with a request, as the text of a carrier; undefined without one. */
export function findCarrier({ headers }: Request): string | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== 'string') return undefined;
  return JSON.stringify({ traceparent, ...(typeof tracestate === 'string' ? { tracestate } : {}) });
}

export interface WaitSpan {
  readonly carrier: string | undefined;
  readonly traces: ClientTraces;
  readonly wake: SandboxRef | undefined;
}

/** Runs a wait in its own span, whose context the wake request carries. */
export function runInWaitSpan<T>({ carrier, traces, wake }: WaitSpan, work: () => Promise<T>): Promise<T> {
  const from = parseCarriedContext(carrier);
  const attributes = wake === undefined ? {} : buildAttributes(wake);
  const name = spanNames.gatewayWait;
  if (from === undefined || traces === 'link') return withSpan({ name, attributes, links: linkToContext(from) }, work);
  return withSpan({ name, attributes, parent: from }, work);
}

export interface RequestSpan {
  readonly carrier: string;
  readonly status: number;
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
}

/** Records the span of a request when its client sampled the trace. */
export function recordRequest({ carrier, status, startMs, endMs }: RequestSpan): void {
  const parent = parseCarriedContext(carrier, 'sampled');
  if (parent === undefined) return;
  const error = status >= 500 ? `answered by ${status}` : undefined;
  const attributes = { [spanAttributes.statusCode]: status };
  recordSpan({ name: spanNames.gatewayRequest, parent, startMs, endMs, attributes, error });
}

function buildAttributes({ namespace, name, uid }: SandboxRef): Record<string, string> {
  return {
    [spanAttributes.namespace]: namespace,
    [spanAttributes.sandboxName]: name,
    [spanAttributes.sandboxUid]: uid,
  };
}

import { parseCarriedContext, linkToContext, spanAttributes, spanNames, withSpan } from '@sandlot/telemetry';
import type { Request } from 'express';
import type { Route } from './route.ts';

/** Whether a client's trace context becomes the parent of the request's span, or a link from a new trace. */
export type ClientTraces = 'link' | 'parent';

export interface RequestSpan {
  readonly traces: ClientTraces;
  readonly route: Route;
  readonly requestId: string;
  readonly keyId: string | undefined;
}

/** Thrown inside the span after a 5xx answer was sent, to mark the span as failed. */
class FailedRequest extends Error {
  override readonly name = 'FailedRequest';
}

/**
 * Answers a request inside a span; what `answer` creates carries the trace on. `answer` resolves with the status. Of the
 * client's input the span has only the request id.
 */
export async function runInRequestSpan(
  request: Request,
  { traces, route, requestId, keyId }: RequestSpan,
  answer: () => Promise<number>,
): Promise<void> {
  const from = parseCarriedContext(findCarrier(request));
  const attributes = {
    [spanAttributes.httpMethod]: request.method,
    [spanAttributes.httpRoute]: route.path,
    [spanAttributes.requestId]: requestId,
    ...(keyId === undefined ? {} : { [spanAttributes.apiKeyId]: keyId }),
  };
  const place = from === undefined ? {} : traces === 'parent' ? { parent: from } : { links: linkToContext(from) };
  try {
    await withSpan({ name: spanNames.apiRequest, attributes, ...place }, async (span) => {
      const status = await answer();
      span.setAttribute(spanAttributes.statusCode, status);
      if (status >= 500 && status !== 501) throw new FailedRequest(`answered by ${status}`);
    });
  } catch (error) {
    if (!(error instanceof FailedRequest)) throw error;
  }
}

/** The trace context in the request's headers, in the form of the annotation that carries it; undefined if there is none. */
function findCarrier(request: Request): string | undefined {
  const traceparent = request.get('traceparent');
  const tracestate = request.get('tracestate');
  if (traceparent === undefined) return undefined;
  return JSON.stringify({ traceparent, ...(tracestate === undefined ? {} : { tracestate }) });
}

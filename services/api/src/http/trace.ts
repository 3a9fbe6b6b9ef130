import { carriedContext, linkToContext, spanAttributes, spanNames, withSpan } from '@sandlot/telemetry';
import type { Request } from 'express';
import type { Route } from './route.ts';

/** What a client's trace context is to us: the parent of ours, or something that a trace of our own links to. */
export type ClientTraces = 'link' | 'parent';

export interface RequestSpan {
  readonly traces: ClientTraces;
  readonly route: Route;
  readonly requestId: string;
  readonly keyId: string | undefined;
}

/** An answer that says that we failed: what makes the span an error. */
class FailedRequest extends Error {
  override readonly name = 'FailedRequest';
}

/**
 * Answers a request inside a span; what is made meanwhile carries its trace on. `answer` resolves with the status that was
 * sent. In the span there is nothing that the caller wrote but the id of his request.
 */
export async function inRequestSpan(
  request: Request,
  { traces, route, requestId, keyId }: RequestSpan,
  answer: () => Promise<number>,
): Promise<void> {
  const from = carriedContext(carrierOf(request));
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

/** The trace context that came with a request, as the text of a carrier. */
function carrierOf(request: Request): string | undefined {
  const traceparent = request.get('traceparent');
  const tracestate = request.get('tracestate');
  if (traceparent === undefined) return undefined;
  return JSON.stringify({ traceparent, ...(tracestate === undefined ? {} : { tracestate }) });
}

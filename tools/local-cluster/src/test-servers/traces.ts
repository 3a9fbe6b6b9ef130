/** A span as Jaeger received it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly name: string;
  /** The resource's attribute `service.name`. */
  readonly service: string;
  readonly kind: 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Epoch nanoseconds. */
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly events: readonly { name: string; timeNs: bigint; attributes: Readonly<Record<string, AttributeValue>> }[];
  readonly links: readonly { traceId: string; spanId: string; attributes: Readonly<Record<string, AttributeValue>> }[];
  readonly status: 'unset' | 'ok' | 'error';
  readonly statusMessage: string;
  /** Jaeger's complaints. It makes a span 1 ns long, for example, if its end is not after its start. */
  readonly warnings: readonly string[];
}

/** Integers and doubles both become numbers. */
export type AttributeValue = string | number | boolean | readonly AttributeValue[];

interface ValueJson {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly ValueJson[] };
}

interface AttributeJson {
  readonly key: string;
  readonly value: ValueJson;
}

interface SpanJson {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind?: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly AttributeJson[];
  readonly events?: readonly { name: string; timeUnixNano: string; attributes?: readonly AttributeJson[] }[];
  readonly links?: readonly { traceId: string; spanId: string; attributes?: readonly AttributeJson[] }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface TracesJson {
  readonly result?: {
    readonly resourceSpans: readonly {
      readonly resource?: { readonly attributes?: readonly AttributeJson[] };
      readonly scopeSpans?: readonly { readonly spans?: readonly SpanJson[] }[];
    }[];
  };
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const statuses = ['unset', 'ok', 'error'] as const;
const maxTraces = '1000';
const warningsKey = '@jaeger@warnings';

/** Returns the spans of a trace that Jaeger has received so far; none for an unknown trace. `url` is the query API's. */
export async function fetchTrace(url: string, traceId: string): Promise<readonly ReceivedSpan[]> {
  return fetchSpans(`${url}/api/v3/traces/${traceId}?raw_traces=true`);
}

/** Returns the spans of every trace that contains a span of the service, from at most a thousand traces. */
export async function fetchTraces(
  url: string,
  search: { service: string; operation?: string | undefined },
): Promise<readonly ReceivedSpan[]> {
  const parameters = new URLSearchParams({
    'query.service_name': search.service,
    ...(search.operation === undefined ? {} : { 'query.operation_name': search.operation }),
    'query.start_time_min': '2000-01-01T00:00:00Z',
    'query.start_time_max': '2100-01-01T00:00:00Z',
    'query.num_traces': maxTraces,
    'query.raw_traces': 'true',
  });
  return fetchSpans(`${url}/api/v3/traces?${parameters.toString()}`);
}

/** The callers ask for raw traces: Jaeger adjusts any others. */
async function fetchSpans(address: string): Promise<readonly ReceivedSpan[]> {
  const response = await fetch(address);
  const text = await response.text();
  if (response.status === 404) return [];
  if (!response.ok) throw new Error(`${address} answered ${response.status}: ${text.slice(0, 500)}`);
  const { result } = JSON.parse(text) as TracesJson;
  return (result?.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) => {
    const service = String(getAttributes(resource?.attributes)['service.name'] ?? '');
    return scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => buildSpan(span, service)));
  });
}

function buildSpan(span: SpanJson, service: string): ReceivedSpan {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name,
    service,
    kind: kinds[span.kind ?? 0] ?? 'unspecified',
    startNs: BigInt(span.startTimeUnixNano),
    endNs: BigInt(span.endTimeUnixNano),
    ...attributesAndWarnings(span),
    ...buildConnections(span),
    status: statuses[span.status?.code ?? 0] ?? 'unset',
    statusMessage: span.status?.message ?? '',
  };
}

/** Jaeger stores its warnings as an attribute. */
function attributesAndWarnings(span: SpanJson): Pick<ReceivedSpan, 'attributes' | 'warnings'> {
  const { [warningsKey]: warnings, ...attributes } = getAttributes(span.attributes);
  return { attributes, warnings: Array.isArray(warnings) ? warnings.map(String) : [] };
}

function buildConnections({ events = [], links = [] }: SpanJson): Pick<ReceivedSpan, 'events' | 'links'> {
  return {
    events: events.map(({ name, timeUnixNano, attributes }) => ({
      name,
      timeNs: BigInt(timeUnixNano),
      attributes: getAttributes(attributes),
    })),
    links: links.map(({ traceId, spanId, attributes }) => ({
      traceId,
      spanId,
      attributes: getAttributes(attributes),
    })),
  };
}

function getAttributes(list: readonly AttributeJson[] = []): Record<string, AttributeValue> {
  return Object.fromEntries(list.map(({ key, value }) => [key, getValue(value)]));
}

function getValue({ stringValue, boolValue, intValue, doubleValue, arrayValue }: ValueJson): AttributeValue {
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map(getValue);
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? boolValue ?? doubleValue ?? '';
}

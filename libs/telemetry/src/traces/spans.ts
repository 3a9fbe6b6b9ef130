import { INVALID_SPAN_CONTEXT, SpanStatusCode, context, trace } from '@opentelemetry/api';
import type { Attributes, Context, Link, Span, Tracer } from '@opentelemetry/api';
import { HeldSpan, findUnsampled } from './held-span.ts';
import { buildTracingState } from './tracing-state.ts';
import type { TracingState } from './tracing-state.ts';
import { wallMs } from './wall.ts';

/** Every span name of the platform. Names of objects are attributes, to keep the cardinality low. */
export const spanNames = {
  claimCreate: 'claim.create',
  claimQueue: 'claim.queue',
  claimBind: 'claim.bind',
  claimAdopt: 'claim.adopt',
  claimCommit: 'claim.commit',
  claimColdStart: 'claim.cold_start',
  claimStatus: 'claim.status',
  runtimeInit: 'runtime.init',
  sandboxReconcile: 'sandbox.reconcile',
  sandboxCreate: 'sandbox.create',
  sandboxSuspend: 'sandbox.suspend',
  sandboxResume: 'sandbox.resume',
  sandboxDelete: 'sandbox.delete',
  poolRefill: 'pool.refill',
  snapshotSave: 'snapshot.save',
  snapshotCopy: 'snapshot.copy',
  snapshotRestore: 'snapshot.restore',
  snapshotUpload: 'snapshot.upload',
  snapshotDownload: 'snapshot.download',
  podCreate: 'pod.create',
  podSchedule: 'pod.schedule',
  podPrepare: 'pod.prepare',
  podInit: 'pod.init',
  imagePull: 'image.pull',
  containerStart: 'container.start',
  podReady: 'pod.ready',
  pvcProvision: 'pvc.provision',
  apiRequest: 'api.request',
  gatewayRequest: 'gateway.request',
  gatewayWait: 'gateway.wait',
} as const;

export type SpanName = (typeof spanNames)[keyof typeof spanNames];

/** Attribute names; `sandlot.` marks those outside the semantic conventions. */
export const spanAttributes = {
  claimUid: 'sandlot.claim.uid',
  claimName: 'sandlot.claim.name',
  sandboxUid: 'sandlot.sandbox.uid',
  sandboxName: 'sandlot.sandbox.name',
  launchType: 'sandlot.launch_type',
  template: 'sandlot.template',
  pool: 'sandlot.pool',
  /** The reason of an operation, or the client that requested it. */
  cause: 'sandlot.cause',
  /** How an operation ended without success. */
  outcome: 'sandlot.outcome',
  /** The number of candidates that a claim tried. */
  attempts: 'sandlot.adopt.attempts',
  /** Result of one try: committed, lost or busy. */
  result: 'sandlot.commit.result',
  /** The claim had to wait until the pool had a member. */
  waited: 'sandlot.claim.waited_for_stock',
  steps: 'sandlot.reconcile.steps',
  count: 'sandlot.count',
  /** The image was already on the node. */
  imageCached: 'sandlot.image.cached',
  /** Duration of the pull according to the kubelet. */
  imagePullMs: 'sandlot.image.pull_ms',
  /** Resolution of the times of this span, which come from an object. */
  timeResolutionMs: 'sandlot.time_resolution_ms',
  namespace: 'k8s.namespace.name',
  podName: 'k8s.pod.name',
  podUid: 'k8s.pod.uid',
  nodeName: 'k8s.node.name',
  volumeClaim: 'k8s.persistentvolumeclaim.name',
  imageName: 'container.image.name',
  statusCode: 'http.response.status_code',
  httpMethod: 'http.request.method',
  /** The pattern, never the path. */
  httpRoute: 'http.route',
  requestId: 'sandlot.request.id',
  /** The public name of an API key, never the key. */
  apiKeyId: 'sandlot.api_key.id',
} as const;

/** The platform's tracer; it does nothing before `startTracing` gets an endpoint. */
export function tracer(): Tracer {
  return trace.getTracer('sandlot');
}

export interface SpanInput {
  readonly name: SpanName;
  readonly attributes?: Attributes | undefined;
  readonly links?: readonly Link[] | undefined;
  /** Default: the active context. */
  readonly parent?: Context | undefined;
}

const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/**
 * Runs `work` inside a span that always ends: as an error with the exception when `work` throws. Without a parent it is an
 * operation of its own, exported when it fails or is slow. Costs nothing while tracing is off.
 */
export async function withSpan<T>(input: SpanInput, work: (span: Span) => Promise<T>): Promise<T> {
  const state = buildTracingState();
  if (state === undefined) return work(NO_SPAN);
  const parent = input.parent ?? context.active();
  const isRoot = trace.getSpanContext(parent) === undefined;
  const span = startSpan({ ...input, parent }, state);
  const beganMs = performance.now();
  let failed = true;
  try {
    const result = await context.with(trace.setSpan(parent, span), () => work(span));
    failed = false;
    return result;
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error));
    span.recordException(failure);
    failSpan(span, failure.message);
    throw error;
  } finally {
    span.end(wallMs());
    if (isRoot) state.decide(span.spanContext().traceId, failed || performance.now() - beganMs >= state.slow.coldMs);
  }
}

/** Marks a span of work that ended without an error, and whose result says that it failed. */
export function failSpan(span: Span, message: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

function startSpan(input: SpanInput & { readonly parent: Context }, state: TracingState): Span {
  const { name, attributes, links, parent } = input;
  const start = (...args: Parameters<Tracer['startSpan']>): Span => tracer().startSpan(...args);
  const unsampled = findUnsampled(parent);
  if (unsampled !== undefined) return new HeldSpan({ name, attributes, links, parent, state, start }, unsampled);
  const options = {
    startTime: wallMs(),
    ...(attributes === undefined ? {} : { attributes }),
    ...(links === undefined ? {} : { links: [...links] }),
  };
  return start(name, options, parent);
}

/** Like {@link withSpan} inside an operation; outside of one `work` runs without a span. */
export async function withChildSpan<T>(input: Omit<SpanInput, 'parent'>, work: (span: Span) => Promise<T>): Promise<T> {
  if (buildTracingState() === undefined || trace.getSpanContext(context.active()) === undefined) return work(NO_SPAN);
  return withSpan(input, work);
}

import { SpanStatusCode, context, trace } from '@opentelemetry/api';
import type { Attributes, Context, Link, Span, SpanKind, Tracer } from '@opentelemetry/api';

/** Every span name of the platform. Low cardinality: names of objects are attributes. */
export const spanNames = {
  claimSubmit: 'claim.submit',
  claimReconcile: 'claim.reconcile',
  claimBind: 'claim.bind',
  claimAdopt: 'claim.adopt',
  claimColdStart: 'claim.cold_start',
  claimStatus: 'claim.status',
  sandboxReconcile: 'sandbox.reconcile',
  sandboxCreate: 'sandbox.create',
  sandboxSuspend: 'sandbox.suspend',
  sandboxResume: 'sandbox.resume',
  sandboxDelete: 'sandbox.delete',
  poolReconcile: 'pool.reconcile',
  poolRefill: 'pool.refill',
  podSchedule: 'pod.schedule',
  imagePull: 'image.pull',
  containerStart: 'container.start',
  pvcProvision: 'pvc.provision',
  daemonReady: 'daemon.ready',
} as const;

export type SpanName = (typeof spanNames)[keyof typeof spanNames];

/** Attribute names that are not part of the semantic conventions. */
export const spanAttributes = {
  claimUid: 'sandlot.claim.uid',
  sandboxUid: 'sandlot.sandbox.uid',
  launchType: 'sandlot.launch_type',
  template: 'sandlot.template',
  pool: 'sandlot.pool',
  namespace: 'k8s.namespace.name',
  timeResolutionMs: 'sandlot.time_resolution_ms',
} as const;

/** The platform's tracer; does nothing until `startTracing` was given an endpoint. */
export function tracer(): Tracer {
  return trace.getTracer('sandlot');
}

export interface SpanInput {
  readonly name: SpanName;
  readonly attributes?: Attributes | undefined;
  readonly links?: readonly Link[] | undefined;
  readonly kind?: SpanKind | undefined;
  /** Default the active context. */
  readonly parent?: Context | undefined;
}

/** Runs `work` inside a span that always ends: as an error, with the exception recorded, when `work` throws. */
export async function withSpan<T>(input: SpanInput, work: (span: Span) => Promise<T>): Promise<T> {
  const parent = input.parent ?? context.active();
  const options = {
    ...(input.attributes === undefined ? {} : { attributes: input.attributes }),
    ...(input.links === undefined ? {} : { links: [...input.links] }),
    ...(input.kind === undefined ? {} : { kind: input.kind }),
  };
  const span = tracer().startSpan(input.name, options, parent);
  try {
    return await context.with(trace.setSpan(parent, span), () => work(span));
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error));
    span.recordException(failure);
    span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
    throw error;
  } finally {
    span.end();
  }
}

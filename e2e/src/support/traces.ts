import { sandboxes } from '@sandlot/api-types';
import { fetchTrace } from '@sandlot/local-cluster';
import type { ReceivedSpan } from '@sandlot/local-cluster';
import { tracesUrl } from '@sandlot/up';
import { expect } from 'vitest';
import { eventually } from './team.ts';
import type { Team } from './team.ts';

/** The span of the client in every trace that a test starts. */
const CLIENT_SPAN = 'b7ad6b7169203331';

/** Starts a trace of a client, and returns the annotation that carries it. */
export function startClientTrace(): { readonly traceId: string; readonly annotations: Record<string, string> } {
  const traceId = crypto.randomUUID().replaceAll('-', '');
  const traceparent = `00-${traceId}-${CLIENT_SPAN}-01`;
  return { traceId, annotations: { 'opentelemetry.io/trace-context': JSON.stringify({ traceparent }) } };
}

/** Suspends or resumes a Sandbox with the trace context of a client. Returns the id of the trace. */
export async function turn(team: Team, name: string, operatingMode: 'Running' | 'Suspended'): Promise<string> {
  const { traceId, annotations } = startClientTrace();
  const key = { namespace: team.namespace, name };
  await team.client.mergePatch(sandboxes, key, { metadata: { annotations }, spec: { operatingMode } });
  return traceId;
}

/** A trace from the backend. */
export class Trace {
  readonly spans: readonly ReceivedSpan[];

  constructor(spans: readonly ReceivedSpan[]) {
    this.spans = spans;
  }

  /** Waits until the trace has spans of all these names: exporters send every few seconds. */
  static async waitFor(traceId: string, names: readonly string[]): Promise<Trace> {
    return eventually(`trace ${traceId} with ${names.join(', ')}`, async () => {
      const trace = new Trace(await fetchTrace(tracesUrl, traceId));
      const missing = names.filter((name) => !trace.spans.some((span) => span.name === name));
      if (missing.length > 0) throw new Error(`no ${missing.join(', ')} among ${trace.#names()}`);
      return trace;
    });
  }

  only(name: string): ReceivedSpan {
    const [span, ...more] = this.spans.filter((candidate) => candidate.name === name);
    if (span === undefined || more.length > 0) throw new Error(`not one span ${name} in ${this.#names()}`);
    return span;
  }

  /** `child < parent` for every span, by name. */
  shape(): string[] {
    const names = new Map(this.spans.map(({ spanId, name }) => [spanId, name]));
    const getParent = ({ parentSpanId }: ReceivedSpan): string =>
      parentSpanId === CLIENT_SPAN ? 'client' : (names.get(parentSpanId) ?? 'nobody');
    return [...new Set(this.spans.map((span) => `${span.name} < ${getParent(span)}`))].sort();
  }

  /** Expects spans to lie within their parents, except these, which end later. */
  expectNested(exceptions: readonly string[] = []): void {
    const byId = new Map(this.spans.map((span) => [span.spanId, span]));
    for (const span of this.spans.filter(({ name }) => !exceptions.includes(name))) {
      const parent = byId.get(span.parentSpanId);
      if (parent === undefined) continue;
      expect(span.startNs, `${span.name} begins in ${parent.name}`).toBeGreaterThanOrEqual(parent.startNs);
      // Jaeger makes a span of no length one nanosecond long.
      expect(span.endNs, `${span.name} ends in ${parent.name}`).toBeLessThanOrEqual(parent.endNs + 1n);
    }
  }

  /** Expects the phases of a start to follow each other without gaps and to fill it. */
  expectChain(start: string, phases: readonly string[]): void {
    const parent = this.only(start);
    let endedNs = parent.startNs;
    for (const phase of phases.map((name) => this.only(name))) {
      expect(phase.startNs, `${phase.name} follows`).toBe(endedNs);
      endedNs = phase.warnings.length > 0 ? phase.startNs : phase.endNs;
    }
    expect(endedNs).toBe(parent.endNs);
  }

  #names(): string {
    return this.spans.map(({ name }) => name).join(', ');
  }
}

import { createLogger, startTracing } from '@sandlot/telemetry';
import type { Tracing } from '@sandlot/telemetry';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`;

interface Line {
  readonly msg: string;
  readonly key?: string;
  readonly trace_id?: string;
  readonly span_id?: string;
}

let tracing: Tracing;
beforeEach(() => {
  const ignore = (_spans: unknown, done: (result: { code: 0 }) => void): void => done({ code: 0 });
  tracing = startTracing({ service: 'test', exporter: { export: ignore, shutdown: () => Promise.resolve() } });
});
afterEach(() => tracing.shutDown());

it('log lines of a pass have the ids of the claim’s trace, including the failure of the pass', async () => {
  const lines: Line[] = [];
  await using harness = await ClaimHarness.start({ members: 0 });
  const write = (line: string): void => void lines.push(JSON.parse(line) as Line);
  harness.log = createLogger({ service: 'claim-controller', level: 'debug', destination: { write } });
  harness.api.faults.failNext({ match: { verb: 'create', resource: 'sandboxes' }, answer: { status: 400 }, times: 2 });
  harness.makeAllReady();
  harness.startController();
  harness.claim('job', {}, { 'opentelemetry.io/trace-context': JSON.stringify({ traceparent }) });
  await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
  const ofPass = lines.filter(({ key }) => key === 'default/job');
  expect(ofPass.map(({ msg }) => msg)).toContain('reconcile failed');
  expect(new Set(ofPass.map((line) => line.trace_id))).toEqual(new Set([TRACE_ID]));
  for (const line of ofPass) expect(line.span_id).toMatch(/^[0-9a-f]{16}$/);
});

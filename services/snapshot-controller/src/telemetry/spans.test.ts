import { annotations } from '@sandlot/api-types';
import { startTracing } from '@sandlot/telemetry';
import type { Tracing } from '@sandlot/telemetry';
import { InMemorySpanExporter } from '@sandlot/telemetry/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Harness } from '../../test/harness.ts';
import { addCopy, addStart, COPY } from '../../test/starts.ts';
import { TestAgent } from '../../test/test-agent.ts';

const OTHER = 'node-2';
const [SUSPENSION, RESUME] = ['a'.repeat(32), 'b'.repeat(32)];
const [CREATION, FORK] = ['d'.repeat(32), 'e'.repeat(32)];
const PARENT = 'c'.repeat(16);
const carry = (traceId = ''): string => JSON.stringify({ traceparent: `00-${traceId}-${PARENT}-01` });

let h: Harness;
let other: TestAgent;
let exporter: InMemorySpanExporter;
let tracing: Tracing;
beforeEach(async () => {
  exporter = new InMemorySpanExporter();
  tracing = startTracing({ service: 'test', exporter });
  const bucket = new Map();
  h = await Harness.start(await TestAgent.start({ bucket }));
  other = await TestAgent.start({ node: OTHER, host: '127.0.0.2', port: h.agent.port, bucket });
  h.addNode(OTHER, '127.0.0.2');
  h.addClass({ store: 'Bucket' });
});
afterEach(async () => {
  await h[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await tracing.shutDown();
});

interface Seen {
  readonly name: string;
  readonly traceId: string;
  readonly parent: string | undefined;
  /** 2: it failed. */
  readonly code: number;
}

/** The spans about the memory so far, by name. */
async function listSpans(): Promise<Seen[]> {
  await tracing.flush();
  return exporter
    .getFinishedSpans()
    .filter(({ name }) => name.startsWith('snapshot.'))
    .map((span) => ({
      name: span.name,
      traceId: span.spanContext().traceId,
      parent: span.parentSpanContext?.spanId,
      code: span.status.code,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const of = (name: string, traceId = '', code = 0): Seen => ({ name, traceId, parent: PARENT, code });

async function sleepInBucket(): Promise<void> {
  await h.startController();
  h.hibernate({}, { [annotations.traceContext]: carry(SUSPENSION) });
  await h.until(() => h.status().remote?.state === 'Uploaded');
  h.removePod('notebook');
}

it('shows save and upload in the trace of the suspension, download and restore in that of the resume', async () => {
  await sleepInBucket();
  const pod = h.addMarkedPod('notebook', { node: OTHER, trace: carry(RESUME) });
  await h.until(() => other.grants.has(pod.metadata.uid ?? ''));
  other.end(pod.metadata.uid ?? '', 'Restored');
  await h.until(() => h.status().restore?.state === 'Restored');
  expect(await listSpans()).toEqual([
    of('snapshot.download', RESUME),
    of('snapshot.restore', RESUME),
    of('snapshot.save', SUSPENSION),
    of('snapshot.upload', SUSPENSION),
  ]);
});

it('shows a restore without a trace of its own, such as that of a drained node, in the trace of the save', async () => {
  await sleepInBucket();
  const pod = h.addMarkedPod('notebook');
  await h.until(() => h.agent.grants.has(pod.metadata.uid ?? ''));
  h.agent.end(pod.metadata.uid ?? '', 'Restored');
  await h.until(() => h.status().restore?.state === 'Restored');
  expect(await listSpans()).toContainEqual(of('snapshot.restore', SUSPENSION));
});

it('shows a failed restore as an error of the resume', async () => {
  await sleepInBucket();
  const pod = h.addMarkedPod('notebook', { trace: carry(RESUME) });
  await h.until(() => h.agent.grants.has(pod.metadata.uid ?? ''));
  h.agent.end(pod.metadata.uid ?? '', 'Failed', 'runsc: exit status 1');
  await h.until(() => h.status().restore?.state === 'Failed');
  expect(await listSpans()).toContainEqual(of('snapshot.restore', RESUME, 2));
});

it('shows a save in the trace of what created the snapshot, and a copy in that of its fork', async () => {
  await h.startController();
  h.hibernate({ whenSaved: 'Resume' }, { [annotations.traceContext]: carry(CREATION) });
  await h.until(() => h.summary() === 'Ready/Saved');
  addStart(h);
  addCopy(h, { trace: carry(FORK) });
  await h.until(() => h.summary(COPY) === 'Ready/Saved');
  const spans = await listSpans();
  expect(spans).toContainEqual(of('snapshot.save', CREATION));
  expect(spans).toContainEqual(of('snapshot.copy', FORK));
});

it('shows an upload that fails as an error of the suspension', async () => {
  const refusal = { status: 502, code: 'RemoteFailed', message: 'the bucket does not answer' };
  h.agent.transferRefusal = refusal;
  await h.startController();
  h.hibernate({}, { [annotations.traceContext]: carry(SUSPENSION) });
  await h.until(() => h.agent.requests.some((request) => request.startsWith('PUT /v1/uploads/')));
  await h.elapse(1_000);
  expect(await listSpans()).toContainEqual(of('snapshot.upload', SUSPENSION, 2));
});

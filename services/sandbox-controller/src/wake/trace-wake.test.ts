import { describe, expect, it } from 'vitest';
import { NOW_MS, notebook, buildSnapshot } from '../../test/builders.ts';
import { decideWake } from './decide-wake.ts';

const TRACE = JSON.stringify({ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' });

describe('the trace context of a request to wake a Sandbox', () => {
  it.each([
    [
      'is part of the resume patch',
      TRACE,
      { 'sandlot.dev/suspended-by': null, 'opentelemetry.io/trace-context': TRACE },
    ],
    ['is absent from the patch of a request without one', undefined, { 'sandlot.dev/suspended-by': null }],
  ])('%s', (_, wakeTrace, annotations) => {
    const asleep = notebook({ metadata: { generation: 3, annotations: { 'sandlot.dev/suspended-by': 'Idle' } } });
    const sandbox = {
      ...asleep,
      spec: { ...asleep.spec, operatingMode: 'Suspended' as const },
      status: { phase: 'Suspended' as const, observedGeneration: 3 },
    };
    const answer = decideWake(buildSnapshot({ sandbox, wakeRequestUntilMs: NOW_MS + 1_000, wakeTrace }), undefined);
    expect(answer).toMatchObject({ kind: 'resume', plan: [{ patch: { metadata: { annotations } } }, {}] });
    expect(JSON.stringify(answer).includes('trace-context')).toBe(wakeTrace !== undefined);
  });
});

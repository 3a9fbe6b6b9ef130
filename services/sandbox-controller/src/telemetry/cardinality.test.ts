import type { Sandbox } from '@sandlot/api-types';
import { createMetrics } from '@sandlot/telemetry';
import { describe, expect, it } from 'vitest';
import { createSandboxMetrics } from './metrics.ts';
import { notebook, makePod, published, buildSnapshot } from '../../test/builders.ts';

const { registry } = createMetrics({ processMetrics: false });
const metrics = createSandboxMetrics(registry, { isCounting: () => true, templateLabels: ['template-99'] });

const fresh: Sandbox = notebook();
const ready = published(buildSnapshot({ ownedPods: [makePod(notebook())] }));

/** Each in a namespace of its own, of one of a hundred templates, with a label that its user chose. */
function named(sandbox: Sandbox, n: number): Sandbox {
  const annotations = { 'agents.x-k8s.io/sandbox-template-ref': `template-${n % 100}` };
  const labels = { 'agents.x-k8s.io/launch-type': `made-up-${n}` };
  const metadata = {
    ...sandbox.metadata,
    namespace: `ns-${n}`,
    name: `box-${n}`,
    uid: `uid-${n}`,
    annotations,
    labels,
  };
  return { ...sandbox, metadata };
}

async function series(): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => /^[a-z]/.test(line));
}

describe('the number of series', () => {
  it('stays the same from the first thousand Sandboxes to the second, and none bears the name of one', async () => {
    const run = (from: number): void => {
      for (let n = from; n < from + 1_000; n += 1) {
        metrics.onSandboxChange(undefined, named(ready, n));
        metrics.onStatusWritten(named(fresh, n), named(ready, n));
      }
    };
    run(0);
    const first = await series();
    const overflown = 'agent_sandbox_creation_latency_ms_count{namespace="other",launch_type="unknown"';
    expect(first.filter((line) => line.startsWith(overflown))).toEqual([
      `${overflown},sandbox_template="other"} 891`,
      `${overflown},sandbox_template="template-99"} 9`,
    ]);
    run(1_000);
    const second = await series();
    expect(second.filter((line) => !line.startsWith('agent_sandboxes{'))).toHaveLength(
      first.filter((line) => !line.startsWith('agent_sandboxes{')).length,
    );
    expect(second.filter((line) => line.startsWith('agent_sandboxes{')).length).toBeLessThanOrEqual(1_001);
    expect(second.join('\n')).toContain('sandbox_template="other"');
    expect(second.join('\n')).not.toMatch(/box-\d|uid-\d|made-up/);
  });

  it('of the population adds up to the Sandboxes, those without a series of their own included', async () => {
    const counts = (await series()).filter((line) => line.startsWith('agent_sandboxes{'));
    expect(counts.map((line) => Number(line.split(' ').at(-1))).reduce((a, b) => a + b)).toBe(2_000);
  });
});

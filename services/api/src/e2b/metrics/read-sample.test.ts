import { expect, it } from 'vitest';
import { findMemoryLimit } from '../answer/size.ts';
import { buildSample } from './read-sample.ts';

const measured = { cpu_count: 1, cpu_used_pct: 0, mem_used: 5, mem_cache: 0, disk_used: 0, disk_total: 0 };
const spec = (resources: object) => ({ podTemplate: { spec: { containers: [{ name: 'box', resources }] } } });

it.each([
  ['what the daemon sees without a limit', {}, 600],
  ['what the daemon sees with a request alone', { requests: { memory: '100' } }, 600],
  ['the limit if the daemon sees that of the whole Pod', { limits: { memory: '512' } }, 512],
  ['what the daemon sees if the machine has less than the limit', { limits: { memory: '1Gi' } }, 600],
])('the total memory of a sandbox is %s', (_, resources, expected) => {
  expect(
    buildSample({ ...measured, mem_total: 600 }, { nowMs: 0, memoryLimit: findMemoryLimit(spec(resources)) }).memTotal,
  ).toBe(expected);
});

it('the time of a sample is that of the API in whole seconds', () => {
  const { timestamp, timestampUnix } = buildSample({ ...measured, mem_total: 600 }, { nowMs: 1_767_225_600_999 });
  expect({ timestamp, timestampUnix }).toEqual({ timestamp: '2026-01-01T00:00:00.000Z', timestampUnix: 1_767_225_600 });
});

import { describe, expect, it } from 'vitest';
import { main } from './main.ts';
import type { Host } from './main.ts';
import { controllerSettings } from './settings.ts';

function hostWith(env: Host['env']): Host & { readonly printed: string[] } {
  const printed: string[] = [];
  return { env, stderr: { write: (text) => printed.push(text) }, printed };
}

const never = (): Promise<void> => Promise.reject(new Error('the process must not start'));

describe('a controller process', () => {
  it('runs with its settings and their defaults, and does not set the exit code', async () => {
    const host = hostWith({ CONCURRENCY: '4', WATCH_NAMESPACES: '', NATS_URL: 'nats://nats:4222' });
    const seen: unknown[] = [];
    await main(controllerSettings, async (settings) => void seen.push(settings), host);
    expect(seen).toEqual([
      {
        LOG_LEVEL: 'info',
        METRICS_PORT: 9090,
        PROBE_PORT: 8081,
        CONCURRENCY: 4,
        KUBE_API_QPS: 0,
        KUBE_API_BURST: 0,
        LEADER_ELECT: true,
        POD_NAMESPACE: 'default',
        NATS_URL: 'nats://nats:4222',
        METRICS_TEMPLATE_LABELS: [],
        NATS_DECLARE_STREAMS: true,
        NATS_STREAM_REPLICAS: 1,
        NATS_STREAM_RETENTION: 604_800_000,
        NATS_STREAM_MAX_BYTES: 268_435_456,
        NATS_RECORD_MAX_BYTES: 67_108_864,
        REDIS_PREFIX: 'sandlot',
        SHARDS: 1,
        DEADLINE_AUDIT_INTERVAL: 60_000,
        TRACE_SAMPLE_RATIO: 0.05,
        TRACE_SLOW_WARM: 1_000,
        TRACE_SLOW_COLD: 15_000,
        BUILD_VERSION: 'dev',
        BUILD_COMMIT: 'unknown',
        BUILD_DATE: 'unknown',
      },
    ]);
    expect([host.exitCode, host.printed]).toEqual([undefined, []]);
  });

  const wrong: readonly (readonly [string, string])[] = [
    ['LOG_LEVEL', 'loud'],
    ['METRICS_PORT', '65536'],
    ['PROBE_PORT', 'http'],
    ['CONCURRENCY', '0'],
    ['LEADER_ELECT', 'yes'],
    ['WATCH_NAMESPACES', 'Team_A'],
    ['WATCH_NAMESPACE', 'team-a'],
    ['NATS_URL', 'http://nats:4222'],
    ['NATS_STREAM_REPLICAS', '9'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
    ['TRACE_SAMPLE_RATIO', '2'],
  ];
  it.each(wrong)('does not start with an invalid %s, names the variable and exits with 78', async (name, value) => {
    const host = hostWith({ [name]: value });
    await main(controllerSettings, never, host);
    expect(host.exitCode).toBe(78);
    expect(host.printed.join('')).toMatch(new RegExp(`^ {2}${name}: expected .+, got "${value}"$`, 'm'));
  });

  it('prints every invalid variable at once, without a stack trace', async () => {
    const host = hostWith(Object.fromEntries(wrong));
    await main(controllerSettings, never, host);
    const lines = host.printed.join('').trimEnd().split('\n');
    expect(lines).toHaveLength(1 + wrong.length);
  });

  it('prints any other error with its stack trace and exits with 1', async () => {
    const host = hostWith({});
    await main(controllerSettings, () => Promise.reject(new Error('no API server')), host);
    expect(host.exitCode).toBe(1);
    expect(host.printed.join('')).toMatch(/^Error: no API server\n\s+at /);
  });
});

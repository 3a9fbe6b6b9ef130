import { durationMs, flag, integer, port, text } from '@sandlot/config';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readFlags } from './flags.ts';
import { controllerSettings } from './settings.ts';

const schema = z.object({
  WORKERS: integer().default(1).meta({ flag: 'sandbox-claim-concurrent-workers' }),
  LEADER_ELECT: flag().default(true).meta({ flag: 'leader-elect', form: 'flag' }),
  METRICS_PORT: port().default(9090).meta({ flag: 'metrics-bind-address', form: 'port' }),
  WINDOW: durationMs().default(1).meta({ flag: 'sandbox-write-behind-window', form: 'duration' }),
  DOMAIN: text().default('cluster.local').meta({ flag: 'cluster-domain' }),
  PLAIN: text().default(''),
});

describe('arguments of the agent-sandbox-controller', () => {
  const rows: readonly (readonly [readonly string[], Record<string, string>])[] = [
    [['--sandbox-claim-concurrent-workers=600'], { WORKERS: '600' }],
    [['-sandbox-claim-concurrent-workers', '600'], { WORKERS: '600' }],
    [['--leader-elect'], { LEADER_ELECT: 'true' }],
    [['--leader-elect=F', '--cluster-domain=corp.local'], { LEADER_ELECT: 'false', DOMAIN: 'corp.local' }],
    [['--leader-elect', '--cluster-domain', 'a.b'], { LEADER_ELECT: 'true', DOMAIN: 'a.b' }],
    [['--metrics-bind-address=:8080'], { METRICS_PORT: '8080' }],
    [['--metrics-bind-address=[::]:8080'], { METRICS_PORT: '8080' }],
    [['--sandbox-write-behind-window=0'], { WINDOW: '0s' }],
    [['--sandbox-write-behind-window', '250ms'], { WINDOW: '250ms' }],
    [['--cluster-domain=a', '--cluster-domain=b'], { DOMAIN: 'b' }],
    [[], {}],
  ];
  it.each(rows)('%j set %j', (args, env) => {
    expect(readFlags(schema, args)).toEqual({ env, warnings: [] });
  });

  it('that another controller honours are ignored without a warning', () => {
    expect(readFlags(schema, ['--sandbox-concurrent-workers=100', 'stray'])).toEqual({ env: {}, warnings: [] });
  });

  const common: readonly (readonly [readonly string[], Record<string, string>])[] = [
    [['--kube-api-qps=-1.0', '--kube-api-burst=10'], { KUBE_API_QPS: '-1', KUBE_API_BURST: '10' }],
    [['--kube-api-qps=0.5'], { KUBE_API_QPS: '1' }],
    [['--leader-election-namespace=kube-system'], { LEASE_NAMESPACE: 'kube-system' }],
    [['--enable-tracing'], { TRACING: 'true' }],
    [['--enable-tracing=false'], { TRACING: 'false' }],
    [['--extensions', '--sandbox-template-concurrent-workers=4', '--sandbox-warm-pool-max-batch-size=50'], {}],
  ];
  it.each(common)('%j set %j in every controller', (args, env) => {
    expect(readFlags(controllerSettings, args)).toEqual({ env, warnings: [] });
  });

  it('that disable extensions cause a warning with the corresponding setting', () => {
    const { env, warnings } = readFlags(controllerSettings, ['--extensions=false']);
    expect(env).toEqual({});
    expect(warnings).toEqual([expect.stringMatching(/extensions=false has no effect.*claimController\.replicas/)]);
  });

  it('that are unknown cause a warning and have no effect', () => {
    const { env, warnings } = readFlags(schema, ['--enable-pprof', '--webhook-port=9443', '--leader-elect=true']);
    expect(env).toEqual({ LEADER_ELECT: 'true' });
    expect(warnings).toEqual([
      'warning: argument --enable-pprof is not known to this controller and has no effect',
      'warning: argument --webhook-port is not known to this controller and has no effect',
    ]);
  });

  it('set the settings of every controller', () => {
    const args = ['--leader-elect=false', '--metrics-bind-address=:8080', '--health-probe-bind-address=:8082'];
    const env = { LEADER_ELECT: 'false', METRICS_PORT: '8080', PROBE_PORT: '8082' };
    expect(readFlags(controllerSettings, args)).toEqual({ env, warnings: [] });
  });
});

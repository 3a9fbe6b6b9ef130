import { describe, expect, it } from 'vitest';
import { podTemplates, render, template } from './chart.ts';

describe('arguments of the agent-sandbox-controller', () => {
  it('reach every controller, which takes what concerns it', async () => {
    const args = ['--sandbox-claim-concurrent-workers=600', '--leader-elect=true'];
    const controllers = podTemplates(await render({ controller: { args } })).filter(([name]) => /-controller$/.test(name));
    const given = controllers.map(([, { spec }]) => (spec.containers[0] as { args?: readonly string[] }).args);
    expect(given).toEqual([args, args, args]);
  });

  it.each(['--metrics-bind-address=:8080', '-health-probe-bind-address=:8081'])(
    'do not move ports behind the back of probes and scrapers: %s says which value does',
    async (argument) => {
      const { code, stderr } = await template({ controller: { args: ['--leader-elect', argument] } });
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/controller\.metricsPort and controller\.probePort/);
    },
  );

  it.each(['leader-elect', '', '--'])('that are none are refused: %j', async (argument) => {
    const { code, stderr } = await template({ controller: { args: [argument] } });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/args/);
  });
});

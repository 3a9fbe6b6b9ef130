import { describe, expect, it } from 'vitest';
import { podTemplates, render, template } from './chart.ts';

describe('arguments of the agent-sandbox-controller', () => {
  it('are passed to every controller, which uses those it knows', async () => {
    const args = ['--sandbox-claim-concurrent-workers=600', '--leader-elect=true'];
    const controllers = podTemplates(await render({ controller: { args } })).filter(([name]) => /-controller$/.test(name));
    const given = controllers.map(([, { spec }]) => (spec.containers[0] as { args?: readonly string[] }).args);
    expect(given).toEqual([args, args, args]);
  });

  it.each(['--metrics-bind-address=:8080', '-health-probe-bind-address=:8081'])(
    'cannot change the ports of probes and scrapers: the error for %s names the values that do',
    async (argument) => {
      const { code, stderr } = await template({ controller: { args: ['--leader-elect', argument] } });
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/controller\.metricsPort and controller\.probePort/);
    },
  );

  it('that move the leases also move the Roles for them', async () => {
    const objects = await render({ controller: { args: ['--leader-election-namespace=leases'] } });
    const placed = objects.filter(({ metadata }) => metadata.name.endsWith('-leader'));
    expect(placed).toHaveLength(6);
    expect(new Set(placed.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['leases']));
  });

  it.each(['leader-elect', '', '--'])('are rejected if malformed: %j', async (argument) => {
    const { code, stderr } = await template({ controller: { args: [argument] } });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/args/);
  });
});

describe('the names of agent-sandbox', () => {
  const listControllers = async (values: Record<string, unknown>) =>
    podTemplates(await render(values)).filter(([name]) => /-controller$/.test(name));

  it("are used if the values ask for them, so that agent-sandbox's scripts find pods and logs", async () => {
    const controllers = await listControllers({ controller: { agentSandboxNames: true } });
    expect(controllers.map(([name]) => name).sort()).toEqual([
      'agent-sandbox-controller',
      'sandlot-claim-controller',
      'sandlot-warmpool-controller',
    ]);
    for (const [, { metadata, spec }] of controllers) {
      expect(metadata.labels).toMatchObject({ app: 'agent-sandbox-controller' });
      expect(metadata.annotations).toMatchObject({
        'kubectl.kubernetes.io/default-container': 'agent-sandbox-controller',
      });
      expect(spec.containers.map(({ name }) => name)).toEqual(['agent-sandbox-controller']);
    }
  });

  it('are not used by default', async () => {
    for (const [name, { metadata, spec }] of await listControllers({})) {
      expect(name).not.toBe('agent-sandbox-controller');
      expect(metadata.labels).not.toHaveProperty('app');
      expect(spec.containers.map((container) => container.name)).toEqual(['controller']);
    }
  });
});

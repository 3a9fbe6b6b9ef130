import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template } from '../chart.ts';

const NAMES = ['claim', 'sandbox', 'snapshot', 'warmpool'].map((name) => `${name}-controller`);
const SHARDS = 3;

describe('controllers.shards', () => {
  it('gives each controller the number, replicas for it, and the right to its leases', async () => {
    const objects = await render({ controllers: { shards: SHARDS }, hibernation: { enabled: true }, runtime: { delivery: 'ImageVolume' } });
    const pods = new Map(podTemplates(objects));
    for (const name of NAMES) {
      expect(find(objects, 'Deployment', `sandlot-${name}`).spec).toMatchObject({ replicas: SHARDS });
      const variables = [...pods].find(([key]) => key.includes(name))?.[1].spec.containers[0]?.env;
      expect(variables).toContainEqual({ name: 'SHARDS', value: String(SHARDS) });
      const rules = find(objects, 'Role', `sandlot-${name}-leader`).rules ?? [];
      const leases = rules.filter(({ resources }) => resources.includes('leases'));
      const own = ['', '-0', '-1', '-2'].map((suffix) => `sandlot-${name}${suffix}`);
      expect(leases.flatMap(({ resourceNames = [] }) => resourceNames)).toEqual(expect.arrayContaining(own));
    }
  });

  it('leaves more replicas as they are', async () => {
    const objects = await render({ controllers: { shards: 2 }, claimController: { replicas: 5 } });
    expect(find(objects, 'Deployment', 'sandlot-claim-controller').spec).toMatchObject({ replicas: 5 });
  });

  it('above 1 is refused without leader election', async () => {
    const { code, stderr } = await template({ controllers: { shards: 2 }, controller: { leaderElection: false } });
    expect([code, stderr]).toEqual([1, expect.stringContaining('needs controller.leaderElection')]);
  });
});

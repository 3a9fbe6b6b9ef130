import { describe, expect, it } from 'vitest';
import { find, lint, podTemplates, profiles, render } from '../chart.ts';

/** While it is away, deadlines fire from timers. */
const SINGLE = ['sandlot-redis'];

it.each(Object.entries(profiles))('the profile %s passes helm lint --strict', async (_, values) => {
  const { code, stdout } = await lint(values);
  expect(code, stdout).toBe(0);
});

describe('the profile ha', () => {
  const values = { ...profiles['ha'], hibernation: { enabled: true }, runtime: { delivery: 'ImageVolume' } };

  it('has two or more replicas of everything but Redis, spread and with a budget', async () => {
    const objects = await render(values);
    const workloads = objects.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
    const replicated = workloads.filter(({ metadata }) => !SINGLE.includes(metadata.name));
    expect(replicated).toHaveLength(9);
    for (const { metadata, spec } of replicated) {
      expect(spec?.replicas, metadata.name).toBeGreaterThan(1);
      expect(spec?.template?.spec.topologySpreadConstraints).toHaveLength(1);
      expect(find(objects, 'PodDisruptionBudget', metadata.name).spec).toMatchObject({ maxUnavailable: 1 });
    }
  });
});

describe('the profile small', () => {
  it('has one replica of everything, and asks for less than half a core and a gigabyte', async () => {
    const objects = await render(profiles['small']);
    expect(objects.filter(({ kind }) => kind === 'PodDisruptionBudget')).toEqual([]);
    const requests = podTemplates(objects).map(
      ([, { spec }]) => spec.containers[0]?.resources?.requests as { readonly cpu: string; readonly memory: string },
    );
    const sum = (key: 'cpu' | 'memory'): number => requests.reduce((total, one) => total + Number.parseInt(one[key], 10), 0);
    expect(requests.every(({ cpu, memory }) => cpu.endsWith('m') && memory.endsWith('Mi'))).toBe(true);
    expect(sum('cpu')).toBeLessThan(500);
    expect(sum('memory')).toBeLessThan(1024);
  });
});

import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { FakeClock } from '@sandlot/std/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { StartPhases } from './start-phases.ts';
import type { PhaseTiming } from './start-phases.ts';
import { NOW_MS, notebook, makePod, published, buildSnapshot } from '../../test/builders.ts';

let clock: FakeClock;
let phases: StartPhases;
let measured: PhaseTiming[];
beforeEach(() => {
  clock = new FakeClock(NOW_MS);
  phases = new StartPhases(clock);
  measured = [];
});

const fresh: Sandbox = { ...notebook(), status: undefined };
const ready = published(buildSnapshot({ ownedPods: [makePod(notebook())] }));

/** The Sandbox's Pod as far as it has come. */
function podAt(stage: 'made' | 'scheduled' | 'running' | 'ready'): Pod {
  const pod = makePod(notebook());
  const spec = { ...pod.spec, nodeName: undefined };
  if (stage === 'made') return { ...pod, spec, status: { phase: 'Pending' } };
  if (stage === 'scheduled') return { ...pod, spec: { ...spec, nodeName: 'n' }, status: { phase: 'Pending' } };
  const status = stage === 'ready' ? 'True' : 'False';
  return {
    ...pod,
    spec: { ...spec, nodeName: 'n' },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status }] },
  };
}

const begin = (): void => void measured.push(...phases.onSandboxChange(undefined, fresh, false));
const pod = (stage: Parameters<typeof podAt>[0]): void => void measured.push(...phases.onPodChange(podAt(stage)));
const end = (): void => void measured.push(...phases.onSandboxChange(fresh, ready, false));

describe('the phases of a first start', () => {
  it('are measured as the caches show them', async () => {
    begin();
    const stages = ['made', 'scheduled', 'running', 'ready'] as const;
    for (const [index, stage] of stages.entries()) {
      await clock.advance((index + 1) * 100);
      pod(stage);
    }
    await clock.advance(500);
    end();
    expect(measured.map(({ phase, seconds }) => [phase, seconds])).toEqual([
      ['create', 0.1],
      ['schedule', 0.2],
      ['start', 0.3],
      ['ready', 0.4],
      ['publish', 0.5],
    ]);
    expect(new Set(measured.map(({ owner }) => owner))).toEqual(new Set(['none']));
  });

  it('add up to the whole, also when one event ends several', async () => {
    begin();
    await clock.advance(100);
    pod('made');
    await clock.advance(900);
    pod('ready');
    await clock.advance(10);
    end();
    expect(measured).toHaveLength(5);
    expect(measured.reduce((sum, { seconds }) => sum + seconds, 0)).toBeCloseTo(1.01, 9);
  });

  it('are measured once, whatever happens to the Pod later', async () => {
    begin();
    pod('ready');
    end();
    measured = [];
    await clock.advance(5_000);
    pod('made');
    pod('ready');
    end();
    expect(measured).toEqual([]);
  });

  it.each([
    ['a start before this process', () => phases.onSandboxChange(undefined, fresh, true)],
    ['a Sandbox that had a status when it was first seen', () => phases.onSandboxChange(undefined, ready, false)],
    ['nothing at all', () => phases.onPodChange(undefined)],
  ])('are not measured for %s', (_, first) => {
    first();
    pod('ready');
    end();
    expect(measured).toEqual([]);
  });
});

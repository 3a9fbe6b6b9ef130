import type { SandboxTemplateBuild, SandboxTemplateBuildStatus } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { observe } from './observe.ts';

function build(name: string, status?: SandboxTemplateBuildStatus): SandboxTemplateBuild {
  const metadata = { namespace: 'team', name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' };
  return { metadata, spec: { templates: [{ name }], image: 'debian' }, ...(status !== undefined && { status }) };
}

const at = (second: number): SandboxTemplateBuildStatus => ({
  phase: 'Building',
  startedAt: `2026-01-01T00:00:0${second}Z`,
});

function look(
  object: SandboxTemplateBuild,
  others: readonly SandboxTemplateBuild[],
  beginning: readonly string[] = [],
) {
  const all = [object, ...others];
  const scene = observe(
    {
      clock: { now: () => 0 },
      builds: { listByIndex: () => all },
      templates: { get: () => undefined },
      mostRunning: 4,
      beginning: new Set(beginning),
    },
    object,
  );
  return { running: scene.running, ahead: scene.ahead };
}

describe('the builds of a namespace that run', () => {
  const ready = { phase: 'Ready' } as const;
  it('are ahead of one that waits, and of one that began after them', () => {
    const others = [build('b', at(1)), build('c', at(3)), build('d', ready), build('e')];
    expect(look(build('a'), others)).toEqual({ running: 2, ahead: 2 });
    expect(look(build('a', at(2)), others)).toEqual({ running: 2, ahead: 1 });
  });

  it('include one that another pass begins at this moment, and not the build itself', () => {
    expect(look(build('a'), [build('b')], ['a', 'b'])).toEqual({ running: 1, ahead: 1 });
  });
});

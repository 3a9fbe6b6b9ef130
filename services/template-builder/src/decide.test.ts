import type {
  SandboxTemplate,
  SandboxTemplateBuild,
  SandboxTemplateBuildSpec,
  SandboxTemplateBuildStatus,
} from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { decide } from './decide.ts';
import type { Scene } from './plan/scene.ts';
import type { Plan } from './plan/steps.ts';

const MADE = '2026-01-01T00:00:00Z';
const MADE_MS = Date.parse(MADE);

function scene(
  given: Partial<Scene> & {
    readonly spec?: Partial<SandboxTemplateBuildSpec>;
    readonly status?: SandboxTemplateBuildStatus;
    readonly deleted?: boolean;
  } = {},
): Scene {
  const { spec, status, deleted, ...rest } = given;
  const object: SandboxTemplateBuild = {
    metadata: {
      namespace: 'team',
      name: 'b',
      uid: 'u1',
      creationTimestamp: MADE,
      generation: 1,
      ...(deleted === true && { deletionTimestamp: MADE }),
    },
    spec: { templates: [{ name: 'app' }], image: 'debian', ...spec },
    ...(status !== undefined && { status }),
  };
  return {
    nowMs: MADE_MS + 1_000,
    object,
    running: 0,
    ahead: 0,
    mostRunning: 2,
    isSuperseded: false,
    templates: new Map(),
    ...rest,
  };
}

const template = (labels: Record<string, string>): ReadonlyMap<string, SandboxTemplate> =>
  new Map([['app', { metadata: { name: 'app', labels }, spec: { podTemplate: { spec: { containers: [] } } } }]]);

/** The steps in words: the phase and reason of a status, and the kinds of the others. */
function tell({ steps }: Plan): string {
  return steps
    .map((step) => (step.kind === 'status' ? `${step.status.phase}/${step.status.conditions?.[0]?.reason}` : step.kind))
    .join(' ');
}

const building = (startedAt: string): SandboxTemplateBuildStatus => ({ phase: 'Building', startedAt });
const ended = { phase: 'Ready', startedAt: MADE, finishedAt: MADE } as const;
const DAY_MS = 86_400_000;

describe('a build', () => {
  it.each<[string, Scene, string]>([
    ['begins', scene(), 'Building/Building enqueue'],
    [
      'that waited begins when there is room',
      scene({ status: { phase: 'Waiting' }, running: 1 }),
      'Building/Building enqueue',
    ],
    ['waits for its turn', scene({ running: 2 }), 'Waiting/WaitsForTurn'],
    ['that is paused waits', scene({ spec: { paused: true } }), 'Waiting/Paused'],
    [
      'that is paused for too long ends',
      scene({ spec: { paused: true }, nowMs: MADE_MS + 2_400_000 }),
      'Failed/TimedOut cancel',
    ],
    ['ends when a newer one supersedes it', scene({ isSuperseded: true }), 'Failed/Superseded cancel'],
    [
      'that runs ends when a newer one supersedes it',
      scene({ isSuperseded: true, status: building(MADE) }),
      'Failed/Superseded cancel',
    ],
    ['that runs is put into the queue again, which may have lost it', scene({ status: building(MADE) }), 'enqueue'],
    [
      'that runs for too long ends',
      scene({ status: building(MADE), nowMs: MADE_MS + 3_600_000 }),
      'Failed/TimedOut cancel',
    ],
    [
      'has its own limit',
      scene({ status: building(MADE), spec: { timeoutSeconds: 60 }, nowMs: MADE_MS + 60_000 }),
      'Failed/TimedOut cancel',
    ],
    ['does not touch a template of someone else', scene({ templates: template({}) }), 'Failed/TemplateExists cancel'],
    [
      'changes a template of an earlier build',
      scene({ templates: template({ 'sandlot.dev/built-by': 'template-build' }) }),
      'Building/Building enqueue',
    ],
    ['that is deleted leaves the queue', scene({ status: building(MADE), deleted: true }), 'cancel'],
    ['that has ended stays for a month', scene({ status: ended, nowMs: MADE_MS + 29 * DAY_MS }), ''],
    ['that has ended is deleted after a month', scene({ status: ended, nowMs: MADE_MS + 30 * DAY_MS }), 'delete'],
    [
      'that never began is deleted after ten minutes',
      scene({ status: { phase: 'Failed', finishedAt: MADE }, nowMs: MADE_MS + 600_000 }),
      'delete',
    ],
    [
      'that a template is of stays',
      scene({
        status: ended,
        nowMs: MADE_MS + 99 * DAY_MS,
        templates: template({ 'sandlot.dev/template-build': 'u1' }),
      }),
      '',
    ],
  ])('%s', (_name, given, expected) => {
    expect(tell(decide(given))).toBe(expected);
  });

  it('goes before builds of namespaces that run more of them already', () => {
    const getPriority = (given: Scene): number | undefined =>
      decide(given).steps.flatMap((step) => (step.kind === 'enqueue' ? [step.priority] : []))[0];
    expect([0, 1, 3].map((ahead) => getPriority(scene({ ahead, running: 3, mostRunning: 4 })))).toEqual([0, 1, 3]);
    expect(getPriority(scene({ ahead: 2, running: 3, status: building(MADE) }))).toBe(2);
  });

  it('is looked at again when its time is over', () => {
    expect(decide(scene()).nextMs).toBe(MADE_MS + 1_000 + 3_600_000);
    expect(decide(scene({ status: building(MADE), spec: { timeoutSeconds: 60 } })).nextMs).toBe(MADE_MS + 60_000);
    expect(decide(scene({ spec: { paused: true } })).nextMs).toBe(MADE_MS + 2_400_000);
  });
});

import type { SandboxTemplateBuild, SandboxTemplateBuildStatus } from '@sandlot/api-types';
import { eventData } from '@sandlot/bus';
import { describe, expect, it } from 'vitest';
import { buildStatus } from '../status/build-status.ts';
import { buildFactSource } from './lifecycle-events.ts';

const SECRET = 'hunter2';
const [BEGIN, END] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:20Z'];

const build = (status: SandboxTemplateBuildStatus): SandboxTemplateBuild => ({
  metadata: { namespace: 'team', name: 'build', uid: 'u1' },
  spec: {
    templates: [{ name: 'app' }, { name: 'app-tagged' }],
    image: `registry.example.com/${SECRET}`,
    steps: [
      { type: 'RUN', args: [`login ${SECRET}`] },
      { type: 'ENV', args: ['TOKEN', SECRET] },
    ],
    startCommand: `serve --token ${SECRET}`,
    readyCommand: `check ${SECRET}`,
  },
  status,
});
const object = { namespace: 'team', name: 'build', uid: 'u1', templates: ['app', 'app-tagged'] };

function fail(reason: 'StepFailed' | 'Superseded', more: SandboxTemplateBuildStatus): SandboxTemplateBuild {
  const message = `failed to run command 'login ${SECRET}'`;
  return build({ ...buildStatus(build({}), { phase: 'Failed', reason, message, nowMs: 0 }), ...more });
}

const started = build({ phase: 'Building', startedAt: BEGIN });
const ready = build({ phase: 'Ready', startedAt: BEGIN, finishedAt: END, cachedSteps: 1 });
const failed = fail('StepFailed', { startedAt: BEGIN, finishedAt: END, failedStep: '1' });
const superseded = fail('Superseded', { finishedAt: END });

const list = (object: SandboxTemplateBuild) =>
  buildFactSource.listFacts(object).map(({ type, marker, data }) => ({ type, marker, data: data() }));

describe('the events of a build', () => {
  it.each([
    ['that waits', build({ phase: 'Waiting' }), []],
    ['that runs', started, [{ type: 'build.started', marker: BEGIN, data: object }]],
    [
      'that has made its templates',
      ready,
      [
        { type: 'build.started', marker: BEGIN, data: object },
        { type: 'build.ready', marker: END, data: { ...object, steps: 2, cachedSteps: 1, tookMs: 20_000 } },
      ],
    ],
    [
      'that failed',
      failed,
      [
        { type: 'build.started', marker: BEGIN, data: object },
        { type: 'build.failed', marker: END, data: { ...object, reason: 'StepFailed', step: '1' } },
      ],
    ],
    [
      'that ended before it began',
      superseded,
      [{ type: 'build.failed', marker: END, data: { ...object, reason: 'Superseded' } }],
    ],
  ])('%s', (_, of, wanted) => {
    expect(list(of)).toEqual(wanted);
  });

  it.each([started, ready, failed])('have no command, no variable and no message of the build', (of) => {
    expect(JSON.stringify(list(of))).not.toContain(SECRET);
  });

  it.each([started, ready, failed, superseded])('have data as the catalogue says', (of) => {
    for (const { type, data } of list(of)) expect(() => eventData[type].parse(data)).not.toThrow();
  });
});

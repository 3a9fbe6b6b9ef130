import { buildMessages, buildReasons, formatRfc3339, labels } from '@sandlot/api-types';
import type { SandboxTemplateBuildStatus } from '@sandlot/api-types';
import type { Plan, Step } from './plan/steps.ts';
import type { Scene } from './plan/scene.ts';
import { buildStatus } from './status/build-status.ts';
import type { Said } from './status/build-status.ts';

const PAUSED_LIMIT_MINUTES = 40;
const MINUTE_MS = 60_000;
const DEFAULT_TIMEOUT_SECONDS = 3_600;
/** What a build has written is read for weeks; a build that a template names is kept as long as the template. */
const KEPT_MS = 30 * 24 * 60 * MINUTE_MS;
/** A build that never began has no log to read. A client that asks again and again would fill the cluster with them. */
const NEVER_BEGAN_MS = 10 * MINUTE_MS;
const NOTHING: Plan = { steps: [] };

/** What to do next about one SandboxTemplateBuild. */
export function decide(scene: Scene): Plan {
  const { metadata, status } = scene.object;
  if (metadata.deletionTimestamp !== undefined) return { steps: [{ kind: 'cancel' }] };
  switch (status?.phase) {
    case undefined:
    case 'Waiting':
      return decideBegin(scene);
    case 'Building':
      return decideRunning(scene);
    case 'Ready':
    case 'Failed':
      return decideRetention(scene);
  }
}

function decideBegin(scene: Scene): Plan {
  const { object, nowMs, running, mostRunning } = scene;
  if (scene.isSuperseded) return fail(scene, { reason: buildReasons.superseded, message: buildMessages.superseded });
  if (object.spec.paused === true) {
    const endMs = Date.parse(object.metadata.creationTimestamp ?? '') + PAUSED_LIMIT_MINUTES * MINUTE_MS;
    if (nowMs >= endMs)
      return fail(scene, { reason: buildReasons.timedOut, message: buildMessages.pausedTooLong(PAUSED_LIMIT_MINUTES) });
    return { ...wait(scene, { reason: buildReasons.paused, message: buildMessages.paused }), nextMs: endMs };
  }
  const foreign = object.spec.templates.find(({ name }) => isForeign(scene, name));
  if (foreign !== undefined)
    return fail(scene, { reason: buildReasons.templateExists, message: buildMessages.templateExists(foreign.name) });
  if (running >= mostRunning)
    return wait(scene, { reason: buildReasons.waitsForTurn, message: buildMessages.waitsForTurn(mostRunning) });
  const said = { reason: buildReasons.building, message: buildMessages.building };
  const status = { ...buildStatus(object, { phase: 'Building', ...said, nowMs }), startedAt: formatRfc3339(nowMs) };
  return { steps: [{ kind: 'status', status }, enqueue(scene)], nextMs: nowMs + getTimeoutMs(scene) };
}

/** A template that no build made stays as its author wrote it. */
function isForeign({ templates }: Scene, name: string): boolean {
  const template = templates.get(name);
  return template !== undefined && template.metadata.labels?.[labels.builtBy] === undefined;
}

function wait({ object, nowMs }: Scene, said: Said): Plan {
  return { steps: [{ kind: 'status', status: buildStatus(object, { phase: 'Waiting', ...said, nowMs }) }] };
}

/** The queue may have lost it: adding it again does nothing while it is there. */
function decideRunning(scene: Scene): Plan {
  const { object, nowMs } = scene;
  if (scene.isSuperseded) return fail(scene, { reason: buildReasons.superseded, message: buildMessages.superseded });
  const endMs = Date.parse(object.status?.startedAt ?? '') + getTimeoutMs(scene);
  if (nowMs < endMs) return { steps: [enqueue(scene)], nextMs: endMs };
  const message = buildMessages.timedOut(getTimeoutMs(scene) / 1_000);
  return fail(scene, { reason: buildReasons.timedOut, message });
}

/** Where processes are scarce, a first build of one namespace goes before a second one of another. */
function enqueue({ ahead }: Scene): Step {
  return { kind: 'enqueue', priority: ahead };
}

function fail({ object, nowMs }: Scene, said: Said): Plan {
  const status: SandboxTemplateBuildStatus = {
    ...buildStatus(object, { phase: 'Failed', ...said, nowMs }),
    finishedAt: formatRfc3339(nowMs),
  };
  return { steps: [{ kind: 'status', status }, { kind: 'cancel' }] };
}

function decideRetention({ object, nowMs, templates }: Scene): Plan {
  const isNamed = [...templates.values()].some(
    ({ metadata }) => metadata.labels?.[labels.templateBuild] === object.metadata.uid,
  );
  if (isNamed) return NOTHING;
  const keptMs = object.status?.startedAt === undefined ? NEVER_BEGAN_MS : KEPT_MS;
  const endMs = Date.parse(object.status?.finishedAt ?? '') + keptMs;
  if (Number.isNaN(endMs)) return NOTHING;
  return nowMs < endMs ? { steps: [], nextMs: endMs } : { steps: [{ kind: 'delete' }] };
}

function getTimeoutMs({ object }: Scene): number {
  return (object.spec.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1_000;
}

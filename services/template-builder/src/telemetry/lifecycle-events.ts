// Lifecycle events of SandboxTemplateBuilds, derived from the status (docs/events.md).
import { buildConditions, findCondition } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import type { AnyFact, FactSource } from '@sandlot/outbox';

/** How the outbox derives events from SandboxTemplateBuilds. */
export const buildFactSource: FactSource<SandboxTemplateBuild> = { listFacts };

/** What has happened to a build by its state, in the order of its life. It never has two ends. */
function listFacts(build: SandboxTemplateBuild): readonly AnyFact[] {
  const { phase, startedAt } = build.status ?? {};
  const facts: AnyFact[] = [];
  if (startedAt !== undefined)
    facts.push({ type: 'build.started', marker: startedAt, timeMs: Date.parse(startedAt), data: () => about(build) });
  if (phase === 'Ready') facts.push({ type: 'build.ready', ...atEnd(build), data: () => describeResult(build) });
  if (phase === 'Failed') facts.push({ type: 'build.failed', ...atEnd(build), data: () => describeFailure(build) });
  return facts;
}

function atEnd({ status }: SandboxTemplateBuild) {
  const finishedAt = status?.finishedAt;
  return finishedAt === undefined ? { marker: 'ended' } : { marker: finishedAt, timeMs: Date.parse(finishedAt) };
}

function describeResult(build: SandboxTemplateBuild) {
  const { startedAt = '', finishedAt = '', cachedSteps = 0 } = build.status ?? {};
  const tookMs = Date.parse(finishedAt) - Date.parse(startedAt);
  const took = tookMs >= 0 ? { tookMs } : {};
  return { ...about(build), steps: build.spec.steps?.length ?? 0, cachedSteps, ...took };
}

/** Without the message: it may quote a command of the build, and a command may have a secret. */
function describeFailure(build: SandboxTemplateBuild) {
  const { failedStep: step, conditions } = build.status ?? {};
  const reason = findCondition(conditions, buildConditions.ready)?.reason ?? '';
  return { ...about(build), reason, ...(step === undefined ? {} : { step }) };
}

function about({ metadata: { namespace = '', name = '', uid = '' }, spec }: SandboxTemplateBuild) {
  return { namespace, name, uid, templates: spec.templates.map((template) => template.name) };
}

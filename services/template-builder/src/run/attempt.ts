import { buildMessages, buildReasons, formatRfc3339, sandboxTemplateBuilds } from '@sandlot/api-types';
import type { SandboxTemplateBuild, SandboxTemplateSpec } from '@sandlot/api-types';
import { getKey, parseKey } from '@sandlot/kube';
import type { Informer, KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { StoredLog } from '../log/build-log.ts';
import type { LogStore } from '../log/log-store.ts';
import type { ImagePlane } from '../plane/plane.ts';
import { openBuildSandbox, removeSandboxes } from '../sandbox/open-sandbox.ts';
import type { SandboxDeps } from '../sandbox/open-sandbox.ts';
import { buildStatus, hasEnded } from '../status/build-status.ts';
import type { BuildMetrics } from '../telemetry/metrics.ts';
import { publishTemplates } from '../template/publish.ts';
import { BuildFailure } from './build-failure.ts';
import { buildRequest } from './request.ts';
import type { RequestDeps } from './request.ts';
import { PlaneError } from '../plane/plane.ts';
import { runBuild } from './run-build.ts';

export interface AttemptDeps extends SandboxDeps, RequestDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly builds: Informer<SandboxTemplateBuild>;
  readonly plane: ImagePlane;
  readonly logs: LogStore;
  readonly metrics: BuildMetrics;
  readonly defaults: Partial<SandboxTemplateSpec>;
  readonly poolReplicas: number;
}

/** More attempts than processes die in a day. */
const MOST_ATTEMPTS = 20;

/**
 * Runs one attempt of the build of this key, to its end. Rejects if another attempt should follow. The number of the attempt in the status is
 * a fence: two processes may hold the same job after Redis was away, and the older attempt ends itself.
 */
export async function runAttempt(deps: AttemptDeps, key: string, stop: AbortSignal): Promise<void> {
  const build = await deps.client.find(sandboxTemplateBuilds, parseKey(key), { signal: stop });
  if (build === undefined || !isRunning(build)) return;
  const { begun, attempt } = await begin(deps, build, stop);
  using fence = watchFence(deps.builds, begun, attempt);
  const signal = AbortSignal.any([stop, fence.signal]);
  const log = new StoredLog(deps.logs, begun, deps.clock);
  try {
    await log.begin();
    await removeSandboxes(deps.client, begun, attempt);
    await carryOut(deps, { build: begun, attempt, log, signal });
  } catch (error) {
    if (fence.signal.aborted) return;
    const failure = findFailure(deps, error, { attempt, isStopped: stop.aborted });
    if (failure === undefined) throw error;
    await fail(deps, begun, { log, failure, signal: stop });
  }
}

/** Undefined: another attempt may succeed. */
function findFailure(
  { log }: AttemptDeps,
  error: unknown,
  { attempt, isStopped }: { readonly attempt: number; readonly isStopped: boolean },
): BuildFailure | undefined {
  if (error instanceof BuildFailure) return error;
  if (attempt < MOST_ATTEMPTS || isStopped) return undefined;
  log.error({ err: error }, 'a build failed at its last attempt');
  return toFailure(error);
}

function isRunning({ metadata, status }: SandboxTemplateBuild): boolean {
  return status?.phase === 'Building' && metadata.deletionTimestamp === undefined;
}

/** The next attempt. Fails with a conflict if another process has begun one. */
async function begin(
  { client }: AttemptDeps,
  build: SandboxTemplateBuild,
  signal: AbortSignal,
): Promise<{ readonly begun: SandboxTemplateBuild; readonly attempt: number }> {
  const attempt = (build.status?.attempt ?? 0) + 1;
  return { begun: await writeStatus(client, build, { status: { attempt }, signal }), attempt };
}

interface Fence extends Disposable {
  readonly signal: AbortSignal;
}

/** Ends the attempt once the build has ended, is deleted, or has another attempt. */
function watchFence(builds: Informer<SandboxTemplateBuild>, build: SandboxTemplateBuild, attempt: number): Fence {
  const over = new AbortController();
  const isOver = ({ metadata, status }: SandboxTemplateBuild): boolean =>
    metadata.uid !== build.metadata.uid ||
    metadata.deletionTimestamp !== undefined ||
    hasEnded({ status }) ||
    (status?.attempt ?? 0) > attempt;
  const watch = builds.onChange(({ key, next }) => {
    if (key !== getKey(build)) return;
    if (next === undefined || isOver(next)) over.abort();
  });
  return { signal: over.signal, [Symbol.dispose]: () => watch[Symbol.dispose]() };
}

interface Attempt {
  readonly build: SandboxTemplateBuild;
  readonly attempt: number;
  readonly log: StoredLog;
  readonly signal: AbortSignal;
}

async function carryOut(deps: AttemptDeps, { build, attempt, log, signal }: Attempt): Promise<void> {
  const { client, plane, clock, metrics } = deps;
  if (attempt > 1) await log.add('warn', `The build was interrupted and goes on, attempt ${attempt}`);
  const request = await buildRequest(deps, build, signal);
  const openSandbox = (image: { readonly image: string }, ended: AbortSignal) =>
    openBuildSandbox(deps, { build, image: image.image, attempt }, ended);
  const result = await runBuild({ plane, log, clock, openSandbox }, request, signal);
  await publishTemplates(deps, build, { result, signal });
  const nowMs = clock.now();
  const seconds = Math.round((nowMs - Date.parse(build.status?.startedAt ?? '')) / 1_000);
  const message = buildMessages.built(seconds);
  // Clients read until a page is empty once the status says that the build is over, so the last entry comes first.
  await log.add('info', message);
  const status = {
    ...buildStatus(build, { phase: 'Ready', reason: buildReasons.built, message, nowMs }),
    image: result.image.image,
    cachedSteps: result.cachedSteps,
    finishedAt: formatRfc3339(nowMs),
  };
  metrics.onStatusWritten(build, await writeStatus(client, build, { status, signal }));
}

interface Failing {
  readonly log: StoredLog;
  readonly failure: BuildFailure;
  readonly signal: AbortSignal;
}

async function fail(
  { client, clock, metrics }: AttemptDeps,
  build: SandboxTemplateBuild,
  { log, failure, signal }: Failing,
): Promise<void> {
  const { reason, message, step } = failure;
  await log.add('error', `Build failed: ${message}`, step);
  const nowMs = clock.now();
  const status = {
    ...buildStatus(build, { phase: 'Failed', reason, message, nowMs }),
    failedStep: step,
    finishedAt: formatRfc3339(nowMs),
  };
  metrics.onStatusWritten(build, await writeStatus(client, build, { status, signal }));
}

function toFailure(error: unknown): BuildFailure {
  const detail = error instanceof Error ? error.message : String(error);
  if (error instanceof PlaneError)
    return new BuildFailure(buildReasons.registryFailed, buildMessages.pushFailed(detail));
  return new BuildFailure(buildReasons.notStarted, buildMessages.notStarted(detail), 'base');
}

interface StatusWrite {
  readonly status: NonNullable<SandboxTemplateBuild['status']>;
  readonly signal: AbortSignal;
}

/** Fails with a conflict if the object has changed since it was read. */
function writeStatus(
  client: Pick<KubeClient, 'mergePatch'>,
  { metadata }: SandboxTemplateBuild,
  { status, signal }: StatusWrite,
): Promise<SandboxTemplateBuild> {
  const { namespace = '', name = '', uid, resourceVersion } = metadata;
  const patch = { metadata: { uid, resourceVersion }, status: { ...status } };
  return client.mergePatch(sandboxTemplateBuilds, { namespace, name }, patch, { signal, subresource: 'status' });
}

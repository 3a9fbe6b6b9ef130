import { buildMessages, buildReasons } from '@sandlot/api-types';
import {
  computeBaseKey,
  computeStepKeys,
  countCacheable,
  describeBase,
  describeStep,
  initialState,
} from '@sandlot/template-build';
import type { BuildState, StepKey } from '@sandlot/template-build';
import { PlaneError } from '../plane/plane.ts';
import type { BuiltImage, ResolvedImage } from '../plane/plane.ts';
import { BuildFailure } from './build-failure.ts';
import type { BuildRequest, BuildTools, Reached } from './build-run.ts';
import { findLastCached, formatStateLabels, readState } from './cache.ts';
import type { CachedStep } from './cache.ts';
import { finalize } from './finalize.ts';
import { StepRunner } from './step-runner.ts';

const TAG_LABEL = 'dev.sandlot.build.tag';

export interface BuildResult {
  readonly image: BuiltImage;
  readonly state: BuildState;
  /** How many steps came from the cache. */
  readonly cachedSteps: number;
}

/**
 * Builds an image from a base and steps. Each step becomes a cached image, so a build that begins again goes on behind the last step that
 * was completed. Throws a BuildFailure, a SandboxLost, or what the plane throws when it cannot be reached.
 */
export async function runBuild(tools: BuildTools, request: BuildRequest, signal: AbortSignal): Promise<BuildResult> {
  await tools.log.add('info', `Building template ${request.title}`);
  const resolved = await atBase(() => tools.plane.resolve(request.source, signal));
  const base = computeBaseKey(resolved.digest);
  const keys = [base, ...computeStepKeys(base, request.steps)];
  const cached = await findCached(tools, request, { keys, signal });
  await logCached(tools, request, { keys, count: (cached?.index ?? -1) + 1 });
  const begin = cached ?? {
    image: await importBase(tools, request, { digest: resolved.digest, signal }),
    state: chooseState(request, resolved),
  };
  const reached =
    cached !== undefined && isWhole(request, cached)
      ? cached
      : await runSteps(tools, request, { begin, after: cached?.index, keys, signal });
  return { ...(await finish(tools, request, { reached, signal })), cachedSteps: cached?.index ?? 0 };
}

interface Looking {
  readonly keys: readonly StepKey[];
  readonly signal: AbortSignal;
}

function findCached(
  { plane }: BuildTools,
  { force, steps, cacheRepository: repository }: BuildRequest,
  { keys, signal }: Looking,
): Promise<CachedStep | undefined> {
  return findLastCached({ plane, repository }, force ? [] : keys.slice(0, 1 + countCacheable(steps)), signal);
}

/** Whether nothing is left to run. The start command is tried in every build. */
function isWhole({ steps, startCommand, readyCommand }: BuildRequest, { index }: CachedStep): boolean {
  return index === steps.length && startCommand === undefined && readyCommand === undefined;
}

interface Running extends Looking {
  readonly begin: Reached;
  /** Index of the key of the image that it begins with; undefined: also the base has to be made. */
  readonly after: number | undefined;
}

async function runSteps(
  tools: BuildTools,
  request: BuildRequest,
  { begin, after, keys, signal }: Running,
): Promise<Reached> {
  await using sandbox = await tools.openSandbox(begin.image, signal);
  const runner = new StepRunner({ ...tools, sandbox, request, keys, signal });
  await runner.prepare();
  const reached = await runner.runAfter(after, begin);
  await finalize({ ...tools, sandbox }, request, { state: reached.state, signal });
  return reached;
}

/** A template hands on its workdir and environment, and never its user: that is what clients of E2B expect. */
function chooseState({ isFromTemplate }: BuildRequest, image: ResolvedImage): BuildState {
  const inherited = isFromTemplate ? readState(image) : undefined;
  return inherited === undefined ? initialState : { ...inherited, user: initialState.user };
}

/** A failure of the plane is one of the base: only here the tenant chooses what it is asked for. */
async function atBase<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof PlaneError) || error.reason === 'busy') throw error;
    throw new BuildFailure(buildReasons.imageRefused, error.message, 'base');
  }
}

async function logCached(
  { log }: BuildTools,
  { sourceTitle, steps }: BuildRequest,
  { keys, count }: { readonly keys: readonly StepKey[]; readonly count: number },
): Promise<void> {
  for (const [index, key] of keys.slice(0, count).entries()) {
    const step = steps[index - 1];
    if (step === undefined) await log.add('info', describeBase(sourceTitle, key, true), 'base');
    else
      await log.add(
        'info',
        describeStep(step, { position: index, count: steps.length }, { key, isCached: true }),
        String(index),
      );
  }
}

interface Base {
  readonly digest: string;
  readonly signal: AbortSignal;
}

/** Copies the image into the registry of the installation: nodes pull from no other, and need no credentials of tenants. */
async function importBase({ plane }: BuildTools, request: BuildRequest, { digest, signal }: Base): Promise<BuiltImage> {
  const repository = request.cacheRepository;
  const tag = `i-${digest.replace(/^.*:/, '')}`;
  const base = { ...request.source, image: pinImage(request.source.image, digest) };
  return atBase(() => plane.assemble({ base, repository, tag }, signal));
}

/** The same image by digest, so that a tag that moves meanwhile does not mix two images. */
function pinImage(image: string, digest: string): string {
  const [name = ''] = image.split('@');
  return `${name.replace(/:[^:/]*$/, '')}@${digest}`;
}

interface Finish {
  readonly reached: Reached;
  readonly signal: AbortSignal;
}

async function finish({ plane }: BuildTools, request: BuildRequest, { reached, signal }: Finish): Promise<Reached> {
  const place = { repository: request.repository, tag: request.tag };
  try {
    const base = { image: reached.image.image, trusted: true };
    // The tag in the image makes its digest its own: a deletion by digest takes no image of another build along.
    const labels = { ...formatStateLabels(reached.state), [TAG_LABEL]: request.tag };
    const image = await plane.assemble({ base, ...place, labels }, signal);
    return { image, state: reached.state };
  } catch (error) {
    if (!(error instanceof PlaneError) || error.isPassing) throw error;
    throw new BuildFailure(buildReasons.registryFailed, buildMessages.pushFailed(error.message), 'finalize');
  }
}

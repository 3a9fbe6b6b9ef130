import { buildMessages, buildReasons, sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaim, SandboxTemplateBuild, SandboxTemplateSpec } from '@sandlot/api-types';
import { isAlreadyExists, isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { deriveEnvdAccessToken, formatTokenSubject } from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';
import { BuildFailure } from '../run/build-failure.ts';
import type { BuildSandbox } from './build-sandbox.ts';
import { SandboxLost } from './build-sandbox.ts';
import { buildClaim, buildTemplate, formatSandboxName } from './build-objects.ts';
import type { SandboxWish } from './build-objects.ts';
import { Daemon } from './daemon.ts';

/** A sandbox whose image has to be pulled first may take this long. */
const START_LIMIT_MS = 600_000;
const POLL_MS = 200;

export interface SandboxDeps {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find'>;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly tokenKeys: TokenKeys;
  readonly gatewayUrl: string;
  /** What the operator wants of every template of a build. */
  readonly defaults: Partial<SandboxTemplateSpec>;
}

/** Starts the sandbox of one attempt. Throws a BuildFailure if it does not start. Disposing deletes it. */
export async function openBuildSandbox(
  deps: SandboxDeps,
  wish: SandboxWish,
  signal: AbortSignal,
): Promise<BuildSandbox> {
  const { client } = deps;
  const template = buildTemplate(wish, deps.defaults);
  const wanted = buildClaim(wish, template, deps.tokenKeys);
  const key = { namespace: wanted.metadata.namespace ?? '', name: wanted.metadata.name ?? '' };
  // Without the signal: it may have ended the build.
  const remove = (): Promise<void> => removeSandbox(client, key);
  try {
    await client.create(sandboxTemplates, template, { signal }).catch(ignorePresent);
    await client.create(sandboxClaims, wanted, { signal }).catch(ignorePresent);
    const claim = await waitUntilReady(deps, key, signal);
    const accessToken = deriveEnvdAccessToken(deps.tokenKeys.of(claim), formatTokenSubject(claim));
    const daemon = new Daemon({ gatewayUrl: deps.gatewayUrl, sandboxId: key.name, accessToken });
    return {
      run: (command, ended) => daemon.run(command, ended),
      upload: (path, content, ended) => daemon.upload(path, content, ended),
      download: (path, ended) => daemon.download(path, ended),
      [Symbol.asyncDispose]: remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Removes what attempts before this one left behind, whose process died. */
export async function removeSandboxes(
  client: Pick<KubeClient, 'delete'>,
  build: SandboxTemplateBuild,
  before: number,
): Promise<void> {
  const namespace = build.metadata.namespace ?? '';
  const attempts = Array.from({ length: Math.max(0, before - 1) }, (_, index) => index + 1);
  await Promise.all(
    attempts.map((attempt) => removeSandbox(client, { namespace, name: formatSandboxName(build, attempt) })),
  );
}

async function removeSandbox(
  client: Pick<KubeClient, 'delete'>,
  key: { readonly namespace: string; readonly name: string },
): Promise<void> {
  await client.delete(sandboxClaims, key).catch(ignoreMissing);
  await client.delete(sandboxTemplates, key).catch(ignoreMissing);
}

async function waitUntilReady(
  { client, clock }: SandboxDeps,
  key: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<SandboxClaim> {
  const endMs = clock.now() + START_LIMIT_MS;
  for (;;) {
    const claim = await client.find(sandboxClaims, key, { signal });
    if (claim === undefined) throw new SandboxLost('the claim of the sandbox was deleted');
    const ready = claim.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return claim;
    if (clock.now() > endMs)
      throw new BuildFailure(
        buildReasons.notStarted,
        buildMessages.notStarted(ready?.message ?? 'it is not Ready'),
        'base',
      );
    await clock.sleep(POLL_MS, signal);
  }
}

function ignorePresent(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}

function ignoreMissing(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

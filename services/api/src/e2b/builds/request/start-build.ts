import { annotations, formatStoredCredentialsName, STORED_CREDENTIALS } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { isAlreadyExists, isConflict, KubeError, secrets } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import type { ApiKey, TokenKeys } from '@sandlot/tenancy';
import { notWaiting, tooLargeBuild } from '../../../errors/build-errors.ts';
import { conflict } from '../../../errors/refusals.ts';
import { hasEnded } from '../../../state/builds.ts';
import type { CopyDeps } from '../../templates/public/copy-public.ts';
import { findBuild } from '../find-build.ts';
import type { FindBuildDeps, NamedBuild } from '../find-build.ts';
import { findBaseName } from './find-base.ts';
import { digestStart, readStart } from './read-start.ts';
import type { Start } from './read-start.ts';
import type { BuildStart, Registry } from './schemas.ts';

export interface StartBuildDeps extends FindBuildDeps, CopyDeps {
  readonly builds: FindBuildDeps['builds'] & CopyDeps['builds'];
  readonly client: CopyDeps['client'] & Pick<KubeClient, 'create'>;
  readonly answers: { readonly tokenKeys: TokenKeys };
  /** Of the credentials, which tenants cannot read. */
  readonly envsNamespace: string;
}

/** etcd takes 1.5 MiB for an object with all its metadata. */
const MOST_BYTES = 1_400_000;
const ATTEMPTS = 5;

/**
 * Gives a build that waits its steps. A repetition of the same start does nothing. Throws an ApiError: 400 for a build that was
 * started with another one or has ended, 413 for what does not fit into an object.
 */
export async function startBuild(
  deps: StartBuildDeps,
  key: ApiKey,
  { named, body }: { readonly named: NamedBuild; readonly body: BuildStart },
): Promise<SandboxTemplateBuild> {
  const start = readStart(body);
  const digest = digestStart(deps.answers.tokenKeys, start);
  let build = await findBuild(deps, key, named);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (isStartedWith(build, digest)) return build;
    if (build.spec.paused !== true || hasEnded(build)) throw notWaiting();
    const started = await tryStart(deps, key, { build, start, digest });
    if (started !== undefined) return started;
    // The template-builder writes the status at the same time.
    build = await findBuild(deps, key, { ...named, isCached: false });
  }
  throw conflict(`build '${named.buildID}' is being changed; try again`);
}

function isStartedWith({ metadata, spec }: SandboxTemplateBuild, digest: string): boolean {
  return spec.paused !== true && metadata.annotations?.[annotations.requestDigest] === digest;
}

interface Attempt {
  readonly build: SandboxTemplateBuild;
  readonly start: Start;
  readonly digest: string;
}

/** Undefined: another write came first. */
async function tryStart(
  deps: StartBuildDeps,
  key: ApiKey,
  { build, start, digest }: Attempt,
): Promise<SandboxTemplateBuild | undefined> {
  const baseName = 'template' in start.base ? await findBaseName(deps, key, start.base.template) : undefined;
  const patch = buildPatch({ build, start, digest }, baseName);
  if (Buffer.byteLength(JSON.stringify(patch)) > MOST_BYTES) throw tooLargeBuild(MOST_BYTES);
  if (start.registry !== undefined) await storeCredentials(deps, build, { registry: start.registry, digest });
  try {
    return await deps.builds.patch(build, patch);
  } catch (error) {
    if (error instanceof KubeError && error.status === 413) throw tooLargeBuild(MOST_BYTES);
    if (error instanceof Error && isConflict(error)) return undefined;
    throw error;
  }
}

function buildPatch({ build, start, digest }: Attempt, baseName: string | undefined): JsonObject {
  const { base, force, steps, registry, startCommand, readyCommand } = start;
  const fromTemplate = 'template' in base ? { [annotations.fromTemplate]: base.template } : {};
  const { uid, resourceVersion } = build.metadata;
  return {
    metadata: { uid, resourceVersion, annotations: { [annotations.requestDigest]: digest, ...fromTemplate } },
    spec: {
      paused: false,
      ...('image' in base ? { image: base.image } : { fromTemplateName: baseName }),
      ...(registry === undefined ? {} : { registrySecretName: STORED_CREDENTIALS }),
      force,
      steps,
      ...(startCommand === undefined ? {} : { startCommand }),
      ...(readyCommand === undefined ? {} : { readyCommand }),
    },
  };
}

/**
 * Stores the credentials of a build before it may begin, where tenants cannot read them. The template-builder deletes them at its end. The
 * digest of the start is in the name, so that a Secret which is there already has the same credentials.
 */
async function storeCredentials(
  { client, envsNamespace: namespace }: StartBuildDeps,
  { metadata: of }: SandboxTemplateBuild,
  { registry, digest }: { readonly registry: Registry; readonly digest: string },
): Promise<void> {
  const { namespace: tenant = '', name = '' } = of;
  const entries = Object.entries(registry).map(
    ([entry, value]) => [entry, Buffer.from(value).toString('base64')] as const,
  );
  const metadata = {
    namespace,
    name: formatStoredCredentialsName(of, digest),
    annotations: { [annotations.storedFor]: `${tenant}/${name}` },
  };
  try {
    await client.create(secrets, { metadata, type: 'Opaque', immutable: true, data: Object.fromEntries(entries) });
  } catch (error) {
    if (!(error instanceof Error) || !isAlreadyExists(error)) throw error;
  }
}

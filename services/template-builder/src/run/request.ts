import {
  annotations,
  buildMessages,
  buildReasons,
  formatStoredCredentialsName,
  hasStoredCredentials,
  labels,
  sandboxTemplates,
} from '@sandlot/api-types';
import type { SandboxTemplate, SandboxTemplateBuild } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';
import type { ImageSource, RegistryCredentials } from '../plane/plane.ts';
import { READY_COMMAND, START_COMMAND } from '../template/template-spec.ts';
import { BuildFailure } from './build-failure.ts';
import type { BuildRequest } from './build-run.ts';
import { formatImageTag } from '../images/image-tag.ts';
import { formatCacheRepository, formatFilesRepository, formatImageRepository } from './repositories.ts';

export interface RequestDeps {
  readonly client: Pick<KubeClient, 'find'>;
  /** The image for a name such as `e2bdev/base`, which clients write and the installation replaces. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Begins the names of all images of builds. */
  readonly registry: string;
  /** Where the API stores credentials; undefined: this installation runs no API. */
  readonly envsNamespace: string | undefined;
  /** Whether builds may name Secrets of their namespace. */
  readonly mayReadSecrets: boolean;
  /** Notes that the namespace gets an image. Returns the installation for its tag; undefined: nothing will delete the image. */
  readonly enrol: (namespace: string, signal: AbortSignal) => Promise<string | undefined>;
}

interface Source {
  readonly source: ImageSource;
  /** Those of the template, where there is one. */
  readonly startCommand?: string | undefined;
  readonly readyCommand?: string | undefined;
}

/** Reads what a build refers to. Throws a BuildFailure of the base for what is not there. */
export async function buildRequest(
  deps: RequestDeps,
  build: SandboxTemplateBuild,
  signal: AbortSignal,
): Promise<BuildRequest> {
  const { spec } = build;
  const source = await readSource(deps, build, signal);
  return {
    tag: await chooseTag(deps, build, signal),
    title: formatTitle(build),
    source: source.source,
    sourceTitle: spec.image ?? formatTemplate(build),
    isFromTemplate: spec.fromTemplateName !== undefined,
    steps: (spec.steps ?? []).map((step) => ({ ...step, args: step.args ?? [] })),
    force: spec.force ?? false,
    ...chooseCommands(spec, source),
    ...formatRepositories(build),
  };
}

async function chooseTag(
  { enrol }: RequestDeps,
  { metadata: { namespace = '', uid = '' } }: SandboxTemplateBuild,
  signal: AbortSignal,
): Promise<string> {
  const installation = await enrol(namespace, signal);
  return installation === undefined ? uid : formatImageTag(installation, uid);
}

/** Template and build, by the ids that clients of the API have. */
function formatTitle({ metadata, spec }: SandboxTemplateBuild): string {
  const [template] = spec.templates;
  return `${template?.labels?.[labels.templateId] ?? template?.name ?? ''}/${metadata.name ?? ''}`;
}

/** The template that the build begins with, as its author wrote it. */
function formatTemplate({ metadata, spec }: SandboxTemplateBuild): string {
  return metadata.annotations?.[annotations.fromTemplate] ?? spec.fromTemplateName ?? '';
}

/** Those of the build. One without any has those of the template that it begins with. */
function chooseCommands(
  spec: SandboxTemplateBuild['spec'],
  source: Source,
): Pick<BuildRequest, 'startCommand' | 'readyCommand'> {
  const hasOwn = spec.startCommand !== undefined || spec.readyCommand !== undefined;
  const { startCommand, readyCommand } = hasOwn ? spec : source;
  return { startCommand, readyCommand };
}

function formatRepositories({ metadata: { namespace = '' } }: SandboxTemplateBuild) {
  return {
    repository: formatImageRepository(namespace),
    cacheRepository: formatCacheRepository(namespace),
    filesRepository: formatFilesRepository(namespace),
  };
}

async function readSource(deps: RequestDeps, build: SandboxTemplateBuild, signal: AbortSignal): Promise<Source> {
  const { image = '', fromTemplateName, registrySecretName } = build.spec;
  if (fromTemplateName !== undefined) return readTemplate(deps, build, { name: fromTemplateName, signal });
  const alias = deps.aliases[image];
  if (alias !== undefined) return { source: { image: alias, trusted: true } };
  if (registrySecretName === undefined) return { source: { image } };
  return { source: { image, credentials: await readCredentials(deps, build, signal) } };
}

interface Named {
  readonly name: string;
  readonly signal: AbortSignal;
}

/** The image of the template as it is now. Without a build it counts as an image that the tenant names, unless the operator lists it. */
async function readTemplate(deps: RequestDeps, build: SandboxTemplateBuild, { name, signal }: Named): Promise<Source> {
  const template = await deps.client.find(sandboxTemplates, { namespace: build.metadata.namespace, name }, { signal });
  const [container] = template?.spec.podTemplate.spec.containers ?? [];
  if (template === undefined || container?.image === undefined)
    throw new BuildFailure(
      buildReasons.templateNotFound,
      buildMessages.templateNotFound(formatTemplate(build)),
      'base',
    );
  if (!isBuilt(deps, template)) {
    const alias = deps.aliases[name];
    return { source: alias === undefined ? { image: container.image } : { image: alias, trusted: true } };
  }
  const find = (wanted: string): string | undefined => container.env?.find((each) => each.name === wanted)?.value;
  return {
    source: { image: container.image, trusted: true },
    startCommand: find(START_COMMAND),
    readyCommand: find(READY_COMMAND),
  };
}

/**
 * Whether a build made the template and its image. Its author may have changed the image since: one of another namespace would be read with
 * the credentials of the installation.
 */
function isBuilt({ registry }: RequestDeps, { metadata, spec }: SandboxTemplate): boolean {
  if (metadata.labels?.[labels.builtBy] === undefined) return false;
  const image = spec.podTemplate.spec.containers[0]?.image ?? '';
  const places = [metadata.namespace, metadata.annotations?.[annotations.copiedFrom]];
  return places.some((place) => place !== undefined && image.startsWith(`${registry}/${place}/`));
}

/** The credentials that the API stored for the build, or those of a Secret of its namespace. */
async function readCredentials(
  deps: RequestDeps,
  build: SandboxTemplateBuild,
  signal: AbortSignal,
): Promise<RegistryCredentials> {
  const { registrySecretName: name = '' } = build.spec;
  const secret = hasStoredCredentials(build)
    ? await findStored(deps, build, signal)
    : await findMarked(deps, build, { name, signal });
  if (secret === undefined)
    throw new BuildFailure(buildReasons.imageRefused, buildMessages.noCredentials(name), 'base');
  const entries = Object.entries(secret.data ?? {}).map(
    ([key, value]) => [key, Buffer.from(value, 'base64').toString()] as const,
  );
  return Object.fromEntries(entries);
}

async function findStored(
  { client, envsNamespace: namespace }: RequestDeps,
  { metadata }: SandboxTemplateBuild,
  signal: AbortSignal,
): Promise<Secret | undefined> {
  if (namespace === undefined) return undefined;
  return client.find(
    secrets,
    { namespace, name: formatStoredCredentialsName(metadata, metadata.annotations?.[annotations.requestDigest] ?? '') },
    { signal },
  );
}

/** Only a Secret that its owner has marked for this use, so that a build cannot send other Secrets to a registry of its choice. */
async function findMarked(
  { client, mayReadSecrets }: RequestDeps,
  { metadata }: SandboxTemplateBuild,
  { name, signal }: Named,
): Promise<Secret | undefined> {
  if (!mayReadSecrets) throw new BuildFailure(buildReasons.imageRefused, buildMessages.noNamespaceSecrets, 'base');
  const secret = await client.find(secrets, { namespace: metadata.namespace, name }, { signal });
  return secret?.metadata.labels?.[labels.registryCredentials] === 'true' ? secret : undefined;
}

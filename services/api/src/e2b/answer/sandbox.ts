// The answers about a sandbox, made from its claim and Sandbox (docs/reference/e2b-api.md#read).
import {
  annotations,
  findEgressWish,
  getTemplateId,
  hasUnresponsiveDaemon,
  listMountedVolumes,
} from '@sandlot/api-types';
import type { HeaderRule, Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { TokenKeys } from '@sandlot/tenancy';
import { CONTROL_VIEW } from '../../claim/annotations.ts';
import { getOnTimeout, getShownEndMs, findStartedAtMs } from '../../claim/lifetime.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { getState } from '../../state/sandbox-state.ts';
import { CONTROL_PREFIX } from '../request/control-prefix.ts';
import type { ListedSandbox, SandboxAnswer, SandboxDetail } from './schemas.ts';
import { buildOutcome } from './outcome.ts';
import { buildSize } from './size.ts';
import { buildTokens } from './tokens.ts';

const CLIENT = 'sandlot';

/** What the answers of this installation need besides the objects. */
export interface AnswerOptions {
  /** The installation's keys, from which the tokens of every sandbox are derived. */
  readonly tokenKeys: TokenKeys;
  /** Version of the daemon that clients see while the Sandbox does not report one. */
  readonly envdVersion: string;
  /** Domain of the sandboxes; undefined in single-URL mode. */
  readonly domain: string | undefined;
}

/** The name that clients gave to the snapshot or template from which the sandbox started; else that of the pool or template. */
function getAlias(claim: SandboxClaim): string {
  const { [annotations.snapshotName]: snapshot, [annotations.templateName]: template } =
    claim.metadata.annotations ?? {};
  return snapshot ?? template ?? getTemplateId(claim);
}

function getEnvdVersion(sandbox: Sandbox | undefined, { envdVersion }: AnswerOptions): string {
  return sandbox?.status?.runtime?.version ?? envdVersion;
}

/** The answer of create, connect and resume. */
export function buildAnswer({ claim, sandbox }: ClaimedSandbox, options: AnswerOptions): SandboxAnswer {
  const tokens = buildTokens(claim, options.tokenKeys);
  return {
    templateID: getTemplateId(claim),
    alias: getAlias(claim),
    sandboxID: claim.metadata.name ?? '',
    clientID: CLIENT,
    envdVersion: getEnvdVersion(sandbox, options),
    envdAccessToken: tokens.envd,
    trafficAccessToken: tokens.traffic ?? null,
    domain: options.domain ?? null,
    ...buildOutcome(sandbox),
  };
}

/** An entry of a list. It has no tokens. */
export function buildListing({ claim, sandbox }: ClaimedSandbox, options: AnswerOptions): ListedSandbox {
  return {
    templateID: getTemplateId(claim),
    alias: getAlias(claim),
    sandboxID: claim.metadata.name ?? '',
    clientID: CLIENT,
    startedAt: formatIsoTime(findStartedAtMs(claim) ?? 0),
    endAt: formatIsoTime(getShownEndMs(claim)),
    ...buildSize(sandbox?.spec),
    state: getState(sandbox),
    envdVersion: getEnvdVersion(sandbox, options),
    metadata: { ...buildMetadata(claim), ...buildControlMetadata({ claim, sandbox }) },
    ...buildVolumeMounts(claim),
    ...(isPausedUnresponsive(sandbox) ? { envdUnresponsiveAtPause: true } : {}),
  };
}

function buildVolumeMounts(claim: SandboxClaim): Pick<ListedSandbox, 'volumeMounts'> {
  const volumes = listMountedVolumes(claim);
  return volumes.length === 0 ? {} : { volumeMounts: volumes.map(({ name, path }) => ({ name, path })) };
}

function isPausedUnresponsive(sandbox: Sandbox | undefined): boolean {
  return sandbox !== undefined && getState(sandbox) === 'paused' && hasUnresponsiveDaemon(sandbox);
}

/** All but the pause mode, which takes a read. */
export function buildDetail(claimed: ClaimedSandbox, options: AnswerOptions): SandboxDetail {
  const { claim } = claimed;
  const tokens = buildTokens(claim, options.tokenKeys);
  const listed = buildListing(claimed, options);
  return {
    ...listed,
    envdAccessToken: tokens.envd,
    domain: options.domain ?? null,
    ...buildNetwork(claim, tokens.traffic === undefined),
    lifecycle: {
      autoResume: claim.metadata.annotations?.[annotations.autoResume] === 'true',
      onTimeout: getOnTimeout(claim),
    },
    ...buildOutcome(claimed.sandbox),
  };
}

export function formatIsoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The user's metadata; empty if the annotation is malformed. */
function buildMetadata({ metadata }: SandboxClaim): Readonly<Record<string, string>> {
  try {
    const parsed: unknown = JSON.parse(metadata.annotations?.[annotations.metadata] ?? '{}');
    if (typeof parsed !== 'object' || parsed === null) return {};
    const entries = Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}

/** The metadata that clients of OpenKruise expect (docs/reference/e2b-api.md#extension-keys). */
function buildControlMetadata({ claim, sandbox }: ClaimedSandbox): Record<string, string> {
  const text = claim.metadata.annotations?.[CONTROL_VIEW];
  if (text === undefined || sandbox === undefined) return {};
  const { namespace = '', name = '' } = sandbox.metadata;
  const resource = { [`${CONTROL_PREFIX}sandbox-resource`]: `${namespace}/${name}` };
  const [ip] = sandbox.status?.podIPs ?? [];
  const hasIp = text.split(',').includes('ip') && ip !== undefined;
  return hasIp ? { ...resource, [`${CONTROL_PREFIX}sandbox-ip`]: ip } : resource;
}

function buildNetwork(
  claim: SandboxClaim,
  allowPublicTraffic: boolean,
): Pick<SandboxDetail, 'allowInternetAccess' | 'network'> {
  const wish = findEgressWish(claim);
  const lists =
    wish === undefined ? {} : { allowOut: [...wish.allowOut, ...(wish.names ?? [])], denyOut: [...wish.denyOut] };
  const network = { allowPublicTraffic, ...lists, ...buildRules(wish?.rules ?? []) };
  return { allowInternetAccess: wish?.allowInternetAccess ?? null, network };
}

/** In place of the value of a header: those of the API are not in the claim, and others may be secret too. */
const HIDDEN = '***';

function buildRules(rules: readonly HeaderRule[]): Pick<NonNullable<SandboxDetail['network']>, 'rules'> {
  if (rules.length === 0) return {};
  const shown = rules.map(({ host, headers }) => {
    const hidden = Object.fromEntries(headers.map(({ name }) => [name, HIDDEN]));
    return [host, [{ transform: { headers: hidden } }]] satisfies [string, object[]];
  });
  return { rules: Object.fromEntries(shown) };
}

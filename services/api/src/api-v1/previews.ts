import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import {
  LONGEST_PREVIEW_SECONDS,
  PREVIEW_PARAMETER,
  derivePreviewKey,
  formatPreviewKey,
  formatTokenSubject,
  readPreviewGeneration,
  signPreview,
} from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';
import { z } from 'zod';
import { patchClaim } from '../e2b/operations/guarded-patches.ts';
import type { PatchDeps } from '../e2b/operations/guarded-patches.ts';
import { noSandbox } from '../errors/api-error.ts';
import { conflict, notEnabled, notPossible } from '../errors/refusals.ts';
import { endpoint, route } from '../http/route.ts';
import type { Route, TenantCall } from '../http/route.ts';
import { buildRateHeaders } from '../limits/create-rate.ts';
import type { Limits } from '../limits/limits.ts';
import type { ClaimedSandbox } from '../state/cluster-state.ts';
import { isExpired } from '../state/sandbox-state.ts';
import * as schemas from './schemas.ts';
import { formatObjectName, getNamespace } from './scope.ts';

export interface PreviewDeps extends PatchDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: Pick<Limits, 'createRate'>;
  readonly answers: { readonly tokenKeys: TokenKeys; readonly domain: string | undefined };
}

const TAG = 'previews';
/** The daemon has tokens of its own, and no page. */
const DAEMON_PORT = 49_983;
const DEFAULT_SECONDS = 3_600;

const newPreview = z
  .strictObject({
    port: z.int().min(1).max(65_535),
    expiresInSeconds: z.int().min(1).max(LONGEST_PREVIEW_SECONDS).default(DEFAULT_SECONDS),
  })
  .meta({ id: 'NewPreview' });

const preview = z
  .object({
    url: z.string().meta({ description: 'Opens the port in a browser. Everyone with the URL has access until then.' }),
    port: z.int(),
    expiresAt: z.iso.datetime({ offset: true }),
  })
  .meta({ id: 'Preview' });

type MakeCall = TenantCall<{
  params: z.output<typeof schemas.named>;
  query: z.output<typeof schemas.scope>;
  headers: unknown;
  body: z.output<typeof newPreview>;
}>;
type PlaceOf = Pick<MakeCall, 'key' | 'query' | 'params' | 'trail'>;

/** URLs that open a port of a sandbox whose ports are not public. */
export function buildPreviewRoutes(deps: PreviewDeps): readonly Route[] {
  const place = { tag: TAG, params: schemas.named, query: schemas.scope };
  return [
    route(
      {
        ...endpoint(
          'createPreview',
          'post /api/v1/claims/{name}/previews',
          'Makes a URL that opens a port for a time.',
        ),
        ...place,
        body: newPreview,
        answers: { 201: { description: 'The preview.', schema: preview } },
        action: 'preview.create',
      },
      (call) => createPreview(deps, call),
    ),
    route(
      {
        ...endpoint('revokePreviews', 'delete /api/v1/claims/{name}/previews', 'Revokes all previews of a claim.'),
        ...place,
        answers: { 204: { description: 'Done.' } },
        action: 'preview.revoke',
      },
      async (call) => {
        const headers = buildRateHeaders(deps.limits.createRate.take(call.key));
        const claimed = await findGuarded(deps, call);
        await patchClaim(deps, claimed, ({ claim }) => buildKeyPatch(deps, claim, getGeneration(claim) + 1));
        return { status: 204, headers };
      },
    ),
  ];
}

async function createPreview(deps: PreviewDeps, call: MakeCall): ReturnType<Route['handle']> {
  const { answers, clock, limits } = deps;
  const { port, expiresInSeconds } = call.body;
  const headers = buildRateHeaders(limits.createRate.take(call.key));
  if (answers.domain === undefined) throw notEnabled('previews need a domain of sandboxes, which is');
  if (port === DAEMON_PORT) throw notPossible(`port ${port} is that of the daemon, which has tokens of its own`);
  const found = await findGuarded(deps, call);
  // A claim of an earlier release has no key, and one whose key of the installation is gone another one.
  const { claim } = await patchClaim(deps, found, (current) => {
    const generation = getGeneration(current.claim);
    const known = current.claim.metadata.annotations?.[annotations.previewKey];
    const isRight = known === formatKey(deps, current.claim, generation);
    return isRight ? undefined : buildKeyPatch(deps, current.claim, generation);
  });
  const expires = Math.floor(clock.now() / 1_000) + expiresInSeconds;
  const token = signPreview(deriveKey(deps, claim, getGeneration(claim)), {
    uid: claim.metadata.uid ?? '',
    port,
    expires,
  });
  const url = formatUrl(call.origin, `${port}-${claim.metadata.name ?? ''}.${answers.domain}`, token);
  return { status: 201, body: { url, port, expiresAt: new Date(expires * 1_000).toISOString() }, headers };
}

/** Scheme and port are those by which the client reached the API: the gateway serves both. */
function formatUrl(origin: string, host: string, token: string): string {
  const { protocol, port } = new URL(origin);
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}/?${PREVIEW_PARAMETER}=${token}`;
}

/** The claim, if its ports are guarded. Throws an ApiError: 404, or 409 if there is nothing to open. */
async function findGuarded(deps: PreviewDeps, { key, query, params, trail }: PlaceOf): Promise<ClaimedSandbox> {
  const namespace = getNamespace(key, query);
  const name = formatObjectName(params.name);
  const isWanted = ({ claim }: ClaimedSandbox): boolean => !isExpired(claim, deps.clock.now());
  const claimed = await deps.state.findSandbox(namespace, name, isWanted);
  if (claimed === undefined || !isWanted(claimed)) throw noSandbox(name);
  const { metadata } = claimed.claim;
  trail.about({ namespace, name, uid: metadata.uid ?? '' });
  if (metadata.annotations?.[annotations.trafficTokenHash] === undefined) {
    throw conflict(`the ports of sandbox '${name}' are public: its URLs need no preview`);
  }
  return claimed;
}

function getGeneration({ metadata }: SandboxClaim): number {
  return readPreviewGeneration(metadata.annotations?.[annotations.previewKey]) ?? 0;
}

function deriveKey(
  { answers }: PreviewDeps,
  claim: SandboxClaim,
  generation: number,
): ReturnType<typeof derivePreviewKey> {
  return derivePreviewKey(answers.tokenKeys.of(claim), formatTokenSubject(claim), generation);
}

function formatKey(deps: PreviewDeps, claim: SandboxClaim, generation: number): string {
  return formatPreviewKey(deriveKey(deps, claim, generation));
}

function buildKeyPatch(deps: PreviewDeps, claim: SandboxClaim, generation: number) {
  return { metadata: { annotations: { [annotations.previewKey]: formatKey(deps, claim, generation) } } };
}

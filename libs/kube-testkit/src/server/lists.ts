import { ApiError, badRequest, expired, invalid } from './api-error.ts';
import type { ApiObject } from '../storage/api-object.ts';
import { forbiddenValue } from '../rules/builtin-rules.ts';
import { present } from '../storage/definitions.ts';
import type { Definition } from '../storage/served-resource.ts';
import type { RequestInfo } from './request.ts';
import { getSelector } from '../storage/selectors.ts';
import type { Selector } from '../storage/selectors.ts';
import type { Storage } from '../storage/storage.ts';

/** The selection of a list or watch. */
export function parseSelector(definition: Definition, info: RequestInfo, query: URLSearchParams): Selector {
  const byName = info.name === undefined ? [] : [`metadata.name=${info.name}`];
  const fields = [query.get('fieldSelector') ?? '', ...byName].filter((part) => part !== '').join(',');
  return getSelector(
    { namespace: info.namespace, labels: query.get('labelSelector') ?? '', fields },
    definition.selectableFields,
  );
}

interface ListRequest {
  readonly storage: Storage;
  readonly definition: Definition;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  /** Overrides the requested revision: the stale-list fault. */
  readonly staleRevision: number | undefined;
}

/** Lists one page, with the metadata of a list kind. */
export function listObjects(request: ListRequest): object {
  const { storage, definition, info, query } = request;
  const token = decodeToken(query.get('continue') ?? '');
  refuseListParameters(query, token);
  const revision = token?.revision ?? request.staleRevision ?? parseRequestedRevision(storage, query);
  const table = storage.snapshot(definition.table, revision);
  if (table === undefined) throw tooOldError(token, storage.revision);
  const page = buildPage(request, table, token?.after ?? '');
  return {
    kind: `${definition.kind}List`,
    apiVersion: present(definition, info.version, { metadata: {} }).apiVersion,
    metadata: { ...(definition.builtin ? {} : { continue: '' }), ...listMetadata(query, page, revision) },
    items: page.rows.map(([, object]) => listItem(definition, info.version, object)),
  };
}

/** Contains the remaining count only without selectors, as on the real server. */
function listMetadata(query: URLSearchParams, { rows, left }: Page, revision: number): object {
  const resourceVersion = String(revision);
  if (left === 0) return { resourceVersion };
  const [after] = rows.at(-1) ?? [''];
  const token = { resourceVersion, continue: encodeToken({ revision, after }) };
  return query.has('labelSelector') || query.has('fieldSelector') ? token : { ...token, remainingItemCount: left };
}

type Row = [key: string, object: ApiObject];

interface Page {
  readonly rows: readonly Row[];
  /** Number of selected objects after this page. */
  readonly left: number;
}

function buildPage(
  { definition, info, query }: ListRequest,
  table: ReadonlyMap<string, ApiObject>,
  after: string,
): Page {
  const matches = parseSelector(definition, info, query);
  const selected = [...table].filter(([key, object]) => key > after && matches(object)).sort(byKey);
  const limit = readLimit(query);
  const rows = limit > 0 ? selected.slice(0, limit) : selected;
  return { rows, left: selected.length - rows.length };
}

function readLimit(query: URLSearchParams): number {
  return Number(query.get('limit') ?? '0');
}

function byKey([left]: Row, [right]: Row): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Items of built-in lists have no kind and apiVersion; custom resources do. */
function listItem(definition: Definition, version: string, object: ApiObject): ApiObject {
  return definition.builtin ? object : present(definition, version, object);
}

interface ContinueToken {
  readonly revision: number;
  readonly after: string;
}

function encodeToken({ revision, after }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${after}\0` })).toString('base64url');
}

function decodeToken(text: string): ContinueToken | undefined {
  if (text === '') return undefined;
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString()) as { rv: number; start: string };
    return { revision: token.rv, after: token.start.slice(0, -1) };
  } catch {
    throw badRequest('invalid continue token: continue key is not valid');
  }
}

function tooOldError(token: ContinueToken | undefined, revision: number): ApiError {
  if (token === undefined) return expired('The resourceVersion for the provided list is too old.');
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
    'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
    'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
    'deleted between the time the first chunk was returned and now may show up in the list.';
  return expired(message, encodeToken({ revision, after: token.after }));
}

/** The revision of a list: the requested one when it must be exact, else the current one. */
function parseRequestedRevision(storage: Storage, query: URLSearchParams): number {
  const revision = parseRevision(query, (problem) => badRequest(`invalid resource version: ${problem}`)) ?? 0;
  if (revision > storage.revision) throw tooNewError(revision, storage.revision);
  const match = query.get('resourceVersionMatch');
  const exact = match === 'Exact' || (match === null && readLimit(query) > 0);
  return exact && revision > 0 ? revision : storage.revision;
}

/** `resourceVersion` as a number, undefined when absent. Lists and watches refuse an invalid one with different errors. */
export function parseRevision(query: URLSearchParams, refuse: (problem: string) => ApiError): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  const problem = `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`;
  if (!/^\d+$/.test(text)) throw refuse(problem);
  return Number(text);
}

function tooNewError(revision: number, current: number): ApiError {
  return new ApiError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${revision}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}

function refuseListParameters(query: URLSearchParams, token: ContinueToken | undefined): void {
  const version = query.get('resourceVersion') ?? '';
  if (token !== undefined && version !== '' && version !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  if (query.has('sendInitialEvents')) {
    throw invalidListOptions([forbiddenValue('sendInitialEvents', 'sendInitialEvents is forbidden for list')]);
  }
  if (query.has('resourceVersionMatch') && version === '') {
    const rule = 'resourceVersionMatch is forbidden unless resourceVersion is provided';
    throw invalidListOptions([forbiddenValue('resourceVersionMatch', rule)]);
  }
}

type Causes = Parameters<typeof invalid>[2];

/** The error for invalid parameters of a list or watch. */
export function invalidListOptions(causes: Causes): ApiError {
  return invalid({ group: 'meta.k8s.io', plural: 'listoptions', kind: 'ListOptions' }, '', causes);
}

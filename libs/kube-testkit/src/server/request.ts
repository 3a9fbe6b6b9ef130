/** Verbs as in the audit log of the real server. */
export type RequestVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** The parts of a request for a resource. */
export interface RequestInfo {
  readonly verb: RequestVerb;
  readonly group: string;
  readonly version: string;
  /** Plural: `pods`. */
  readonly resource: string;
  /** Empty for the main endpoint. */
  readonly subresource: string;
  readonly namespace: string | undefined;
  /** Undefined for collections. */
  readonly name: string | undefined;
  readonly user: string;
}

/** A request with all parts that the handlers read. */
export interface ApiRequest {
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  /** Without parameters: `application/json`. */
  readonly contentType: string;
  /** Owner of the written fields: `fieldManager`, else the user agent up to its first slash. */
  readonly manager: string;
  readonly body: string;
}

export interface RawRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Parses a request. Undefined when the path names no resource. */
export function parseRequest(raw: RawRequest): ApiRequest | undefined {
  const url = new URL(raw.url, 'https://fake');
  const path = parsePath(url.pathname);
  if (path === undefined) return undefined;
  const verb = findVerb(raw.method, path.name !== undefined, url.searchParams);
  if (verb === undefined) return undefined;
  const userAgent = header(raw, 'user-agent').split('/', 1)[0] ?? '';
  return {
    info: { ...path, verb, user: getUser(raw) },
    query: url.searchParams,
    contentType: (header(raw, 'content-type').split(';', 1)[0] ?? '').trim(),
    manager: url.searchParams.get('fieldManager') ?? (userAgent === '' ? 'unknown' : userAgent),
    body: raw.body,
  };
}

function header({ headers }: RawRequest, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** The bearer token is the name of the user, because there is nothing to protect. */
function getUser(raw: RawRequest): string {
  const impersonated = header(raw, 'impersonate-user');
  if (impersonated !== '') return impersonated;
  const token = header(raw, 'authorization').replace(/^Bearer /, '');
  return token === '' ? 'system:anonymous' : token;
}

function findVerb(method: string, named: boolean, query: URLSearchParams): RequestVerb | undefined {
  const watching = ['1', 'true'].includes(query.get('watch') ?? '');
  switch (method) {
    case 'GET':
      if (watching) return 'watch';
      return named ? 'get' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return named ? 'delete' : 'deletecollection';
    default:
      return undefined;
  }
}

type ResourcePath = Pick<RequestInfo, 'group' | 'version' | 'resource' | 'subresource' | 'namespace' | 'name'>;

/** Path segments after a namespace that are its subresources, not resources in it. */
const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

function parsePath(pathname: string): ResourcePath | undefined {
  const [root, ...parts] = pathname.split('/').slice(1).map(decodeURIComponent);
  if (root === 'api') return parseResource('', parts);
  const [group = '', ...rest] = parts;
  return root === 'apis' ? parseResource(group, rest) : undefined;
}

function parseResource(group: string, [version = '', ...parts]: readonly string[]): ResourcePath | undefined {
  const [scope, namespace, inner] = parts;
  if (scope === undefined) return undefined;
  const scoped = scope === 'namespaces' && inner !== undefined && !NAMESPACE_SUBRESOURCES.has(inner);
  const [resource = '', name, subresource = ''] = scoped ? parts.slice(2) : parts;
  return { group, version, resource, name, subresource, namespace: scoped ? namespace : undefined };
}

import type { Clock } from '@sandlot/std';
import type { JsonPatchOp } from '@sandlot/kube';
import {
  ApiError,
  badRequest,
  invalid,
  methodNotAllowed,
  notFound,
  buildSuccessStatus,
  unsupportedMediaType,
} from './api-error.ts';
import type { ApiObject } from '../storage/api-object.ts';
import { isRecord, omit } from '../storage/api-object.ts';
import { applyServerSide } from '../patches/apply.ts';
import { invalidValue, requiredValue } from '../rules/builtin-rules.ts';
import type { DeleteOptions } from '../rules/deletion.ts';
import { deleteObject } from '../rules/deletion.ts';
import { present } from '../storage/definitions.ts';
import { checkBudgets } from './eviction.ts';
import { listObjects, parseSelector } from './lists.ts';
import { JsonPatchError, jsonPatch, mergePatch } from '../patches/patch.ts';
import type { Registry, Target, Wanted, WriteOptions } from '../storage/registry.ts';
import type { ApiRequest, RequestVerb } from './request.ts';
import { readScale, writeScale } from './scale.ts';

export interface Answer {
  readonly code: number;
  readonly body: object;
}

export interface HandlerContext {
  readonly registry: Registry;
  readonly clock: Clock;
  /** See the stale-list fault. */
  readonly staleRevision: number | undefined;
}

type Handler = (context: HandlerContext, request: ApiRequest, target: Target) => Answer;

/** Executes any request except a watch. Throws refusals as {@link ApiError}. */
export function handle(context: HandlerContext, request: ApiRequest, target: Target): Answer {
  const { verb, subresource } = request.info;
  const handlers = SUBRESOURCES[subresource];
  if (handlers === undefined) throw notFound(target.definition, target.name);
  const handler = handlers[verb];
  if (handler === undefined) throw methodNotAllowed();
  return handler(context, request, target);
}

const get: Handler = ({ registry }, _request, target) => ({
  code: 200,
  body: registry.present(target, registry.read(target)),
});

const list: Handler = ({ registry, staleRevision }, { info, query }, { definition }) => ({
  code: 200,
  body: listObjects({ storage: registry.storage, definition, info, query, staleRevision }),
});

const create: Handler = ({ registry }, request, target) => {
  const object = parseObject(request, target);
  if (target.definition.namespaced && target.namespace === undefined) throw methodNotAllowed();
  const created = registry.create({ ...target, name: object.metadata.name ?? '' }, { object }, writeOptions(request));
  return { code: 201, body: registry.present(target, created) };
};

const update: Handler = ({ registry }, request, target) => {
  const object = parseObject(request, target);
  return {
    code: 200,
    body: registry.present(
      target,
      registry.update(target, () => ({ object }), writeOptions(request)),
    ),
  };
};

const patch: Handler = (context, request, target) => {
  const { registry } = context;
  if (request.contentType === APPLY) return apply(context, request, target);
  const change = readPatch(request, target);
  return { code: 200, body: registry.present(target, registry.update(target, change, writeOptions(request))) };
};

/** Creates the object if it does not exist. */
const apply: Handler = ({ registry }, request, target) => {
  const config = parseObject(request, target);
  const manager = request.query.get('fieldManager') ?? '';
  if (manager === '') {
    const of = { group: 'meta.k8s.io', plural: 'patchoptions', kind: 'PatchOptions' };
    throw invalid(of, '', [requiredValue('fieldManager', 'is required for apply patch')]);
  }
  if (config.metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  const live = registry.find(target);
  if (live === undefined && target.subresource !== undefined) throw notFound(target.definition, target.name);
  const owned = ownConfig(config, target);
  const wanted = (current: ApiObject | undefined): Wanted =>
    applyServerSide({
      live: current,
      config: owned,
      owner: registry.owner(target, manager, 'Apply'),
      force: request.query.get('force') === 'true',
    });
  const stored =
    live === undefined
      ? registry.create(target, wanted(undefined), writeOptions(request))
      : registry.update(target, wanted, writeOptions(request));
  return { code: live === undefined ? 201 : 200, body: registry.present(target, stored) };
};

/** Keeps only the fields that the endpoint may change and own. */
function ownConfig(config: ApiObject, { definition, subresource }: Target): ApiObject {
  const { metadata, status } = config;
  if (subresource === 'status')
    return { metadata: { name: metadata.name }, ...(status === undefined ? {} : { status }) };
  return definition.status ? { ...omit(config, ['status']), metadata } : config;
}

const remove: Handler = ({ registry, clock }, request, target) => {
  const { definition } = target;
  const { object, gone } = deleteObject(registry, target, { ...deleteOptions(request), clock });
  if (definition.builtin || !gone) return { code: 200, body: registry.present(target, object) };
  const { name, uid } = object.metadata;
  return { code: 200, body: buildSuccessStatus({ name, group: definition.group, kind: definition.plural, uid }) };
};

const removeAll: Handler = (context, request, target) => {
  const { registry, clock } = context;
  const matches = parseSelector(target.definition, request.info, request.query);
  const answer = list(context, request, target);
  for (const { metadata } of [...registry.storage.table(target.definition.table).values()].filter(matches)) {
    const one = { ...target, namespace: metadata.namespace, name: metadata.name ?? '' };
    deleteObject(registry, one, { ...deleteOptions(request), clock });
  }
  return answer;
};

const evict: Handler = ({ registry, clock }, request, target) => {
  checkBudgets(registry, target);
  deleteObject(registry, target, { ...deleteOptions(request), clock });
  return { code: 201, body: buildSuccessStatus() };
};

/** The request of the scheduler: the only way to assign a node to an existing pod. */
const bind: Handler = ({ registry }, request, target) => {
  const { target: node } = parseBody(request) as { target?: { name?: string } };
  const pod = structuredClone(registry.read(target));
  registry.overwrite(target, { ...pod, spec: { ...(isRecord(pod['spec']) ? pod['spec'] : {}), nodeName: node?.name } });
  return { code: 201, body: buildSuccessStatus() };
};

const getScale: Handler = ({ registry }, _request, target) => ({ code: 200, body: readScale(registry, target) });

const changeScale: Handler = ({ registry }, request, target) => {
  const options = writeOptions(request);
  const change = request.info.verb === 'update' ? () => parseBody(request) : readPatch(request, target);
  const wanted = change(readScale(registry, target));
  return {
    code: 200,
    body: writeScale(registry, target, { scale: 'object' in wanted ? wanted['object'] : wanted, options }),
  };
};

type Handlers = Partial<Record<RequestVerb, Handler>>;

const SUBRESOURCES: Readonly<Record<string, Handlers>> = {
  '': { get, list, create, update, patch, delete: remove, deletecollection: removeAll },
  status: { get, update, patch },
  scale: { get: getScale, update: changeScale, patch: changeScale },
  resize: { get, update, patch },
  eviction: { create: evict },
  binding: { create: bind },
};

const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';
const STRATEGIC = 'application/strategic-merge-patch+json';

/** Reads a patch body according to its content type. */
function readPatch(request: ApiRequest, { definition, name }: Target): (current: ApiObject) => Wanted {
  const body = parseBody(request);
  switch (request.contentType) {
    case MERGE:
      return (current) => ({ object: mergePatch(current, body) as ApiObject });
    case JSON_PATCH:
      if (!Array.isArray(body)) {
        const message =
          'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp';
        throw badRequest(message);
      }
      return (current) => ({ object: applyOps(current, body as JsonPatchOp[]) });
    default:
      throw unsupportedMediaType(
        definition.builtin && name !== '' ? [JSON_PATCH, MERGE, STRATEGIC, APPLY] : [JSON_PATCH, MERGE, APPLY],
      );
  }
}

function applyOps(current: ApiObject, ops: readonly JsonPatchOp[]): ApiObject {
  try {
    return jsonPatch(current, ops) as ApiObject;
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error;
    const message = 'the server rejected our request due to an error in our request';
    throw new ApiError({ code: 422, reason: 'Invalid', message, details: {} });
  }
}

function parseBody({ body }: ApiRequest): object {
  try {
    const parsed: unknown = JSON.parse(body === '' ? '{}' : body);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw badRequest(
    "the object provided is unrecognized (must be of type Object): couldn't get version/kind; json parse error",
  );
}

/** Parses an object of the target's kind and version. Only built-in kinds may leave them out. */
function parseObject(request: ApiRequest, { definition, version, name }: Target): ApiObject {
  const object = parseBody(request) as ApiObject;
  const { apiVersion, kind } = present(definition, version, object);
  for (const [field, value] of Object.entries({ Kind: object.kind, apiVersion: object.apiVersion })) {
    if (value !== undefined || definition.builtin) continue;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${definition.kind}): Object '${field}' is missing in '${request.body}'`,
    );
  }
  if (object.apiVersion !== undefined && object.apiVersion !== apiVersion) {
    const versions = `(${object.apiVersion}) does not match the expected API version (${apiVersion ?? ''})`;
    throw badRequest(`the API version in the data ${versions}`);
  }
  if (object.kind !== undefined && object.kind !== kind) {
    throw invalid(definition, name, [invalidValue('kind', object.kind, `must be ${definition.kind}`)]);
  }
  return { ...object, apiVersion, kind, metadata: isRecord(object.metadata) ? object.metadata : {} };
}

function writeOptions({ manager, query }: ApiRequest): WriteOptions {
  return { manager, dryRun: query.get('dryRun') === 'All' };
}

/** Reads the options from the body, where an eviction nests them, or from the query, as older clients send them. */
function deleteOptions(request: ApiRequest): DeleteOptions {
  const body = parseBody(request) as DeleteOptions & { deleteOptions?: DeleteOptions };
  const { gracePeriodSeconds, propagationPolicy, preconditions } = body.deleteOptions ?? body;
  const policy = propagationPolicy ?? request.query.get('propagationPolicy') ?? undefined;
  const grace = request.query.get('gracePeriodSeconds');
  return {
    gracePeriodSeconds: gracePeriodSeconds ?? (grace === null ? undefined : Number(grace)),
    propagationPolicy: policy as DeleteOptions['propagationPolicy'],
    preconditions,
  };
}

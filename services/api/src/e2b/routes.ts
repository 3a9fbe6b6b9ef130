// The E2B dialect: version 1 and 2 of each operation side by side (E2B contract, route table).
import { z } from 'zod';
import type { Deps } from '../deps.ts';
import { ApiError, conflict, noSandbox } from '../http/errors.ts';
import { publicRoute, route } from '../http/route.ts';
import type { Answer, AnswerSpec, Route, TenantCall } from '../http/route.ts';
import { assertTimeout } from './claim.ts';
import { createSandbox } from './create.ts';
import { retentionIn } from './kruise.ts';
import {
  connectSandbox,
  extended,
  killSandbox,
  ownSandbox,
  patchClaim,
  pauseSandbox,
  runningSandbox,
} from './lifecycle.ts';
import { endPatch } from './lifetime.ts';
import { metricsOf } from './metrics.ts';
import { assertEnforceable } from './network.ts';
import { findOrigin } from './origin.ts';
import { listSandboxes, oneTemplate, sandboxDetail, sandboxesOf, templatesOf } from './read.ts';
import { filterOf } from './list.ts';
import * as schemas from './schemas.ts';
import { allowanceOf } from './tenant.ts';
import { answerOf } from './tokens.ts';
import { stateOf } from './view.ts';

const { sandboxId } = schemas;
type Id = z.output<typeof sandboxId>;

const TAG = 'E2B sandboxes';
const done = { 204: { description: 'Done.' } };
const rateHeaders = z.object({
  'RateLimit-Limit': z.int().optional().meta({ description: 'Creates that may come at once.' }),
  'RateLimit-Remaining': z.int().optional(),
  'RateLimit-Reset': z.int().optional().meta({ description: 'Seconds until all may come again.' }),
});
const created: AnswerSpec = {
  description: 'The sandbox runs and its daemon answers.',
  schema: schemas.sandboxAnswer,
  headers: rateHeaders,
};
const idempotency = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[a-z0-9-]{1,255}$/)
    .optional()
    .meta({
      description: 'The same key with the same body answers the first sandbox again.',
    }),
});

export function e2bRoutes(deps: Deps): readonly Route[] {
  return [...lifeRoutes(deps), ...timeRoutes(deps), ...readRoutes(deps), ...templateRoutes(deps), healthRoute()];
}

function lifeRoutes(deps: Deps): readonly Route[] {
  const answers = { 201: created };
  const connected = {
    200: { description: 'It was running; it may have been given more time.', schema: schemas.sandboxAnswer },
    201: { description: 'It was paused and has been resumed.', schema: schemas.sandboxAnswer },
  };
  const shape = { params: sandboxId, tag: TAG } as const;
  return [
    route(
      {
        id: 'createSandboxV2',
        method: 'post',
        path: '/v2/sandboxes',
        summary: 'Creates a sandbox.',
        tag: TAG,
        headers: idempotency,
        body: schemas.newSandboxV2,
        answers,
        action: 'sandbox.create',
      },
      (call) => createSandbox(deps, call),
    ),
    route(
      {
        id: 'createSandbox',
        method: 'post',
        path: '/sandboxes',
        summary: 'Creates a sandbox (version 1).',
        tag: TAG,
        headers: idempotency,
        body: schemas.newSandboxV1,
        answers,
        action: 'sandbox.create',
      },
      (call) => createSandbox(deps, call),
    ),
    route(
      {
        ...shape,
        id: 'connectSandboxV2',
        method: 'post',
        path: '/v2/sandboxes/{sandboxID}/connect',
        summary: 'Connects, resuming if needed.',
        body: schemas.connectV2,
        answers: connected,
        action: 'sandbox.connect',
      },
      (call) => connect(deps, call),
    ),
    route(
      {
        ...shape,
        id: 'connectSandbox',
        method: 'post',
        path: '/sandboxes/{sandboxID}/connect',
        summary: 'Connects, resuming if needed (version 1).',
        body: schemas.connectV1,
        answers: connected,
        action: 'sandbox.connect',
      },
      (call) => connect(deps, call),
    ),
    route(
      {
        ...shape,
        id: 'resumeSandbox',
        method: 'post',
        path: '/sandboxes/{sandboxID}/resume',
        summary: 'Resumes a paused sandbox.',
        body: schemas.resumeRequest,
        answers,
        action: 'sandbox.resume',
      },
      (call) => resume(deps, call),
    ),
    route(
      {
        ...shape,
        id: 'pauseSandbox',
        method: 'post',
        path: '/sandboxes/{sandboxID}/pause',
        summary: 'Pauses a sandbox: its volumes stay, its memory does not.',
        body: schemas.pauseRequest,
        answers: done,
        action: 'sandbox.pause',
      },
      (call) => pause(deps, call),
    ),
    route(
      {
        ...shape,
        id: 'killSandbox',
        method: 'delete',
        path: '/sandboxes/{sandboxID}',
        summary: 'Kills a sandbox, running or paused.',
        answers: done,
        action: 'sandbox.kill',
      },
      (call) => kill(deps, call),
    ),
  ];
}

async function connect(deps: Deps, call: TenantCall<Id, unknown, { timeout: number }>): Promise<Answer> {
  const { timeout } = call.body;
  assertTimeout(timeout, allowanceOf(call.key, deps.settings).maxTimeoutSeconds);
  const held = await named(deps, call);
  const connected = await connectSandbox(deps, held, timeout);
  return { status: connected.resumed ? 201 : 200, body: answerOf(deps, connected.held) };
}

/** Of very old clients. */
async function resume(deps: Deps, call: TenantCall<Id, unknown, { timeout: number }>): Promise<Answer> {
  assertTimeout(call.body.timeout, allowanceOf(call.key, deps.settings).maxTimeoutSeconds);
  const held = await named(deps, call);
  if (stateOf(held.sandbox) === 'running') throw conflict('the sandbox is running already');
  const connected = await connectSandbox(deps, held, call.body.timeout);
  return { status: 201, body: answerOf(deps, connected.held) };
}

const RETENTION_HEADER = 'x-e2b-kruise-reserve-paused-sandbox-duration';

async function pause(deps: Deps, call: TenantCall<Id>): Promise<Answer> {
  const asked = call.header(RETENTION_HEADER);
  const retention = asked === undefined ? undefined : retentionIn(asked, RETENTION_HEADER);
  const held = await named(deps, call);
  await pauseSandbox(deps, held, retention);
  return { status: 204 };
}

async function kill(deps: Deps, call: TenantCall<Id>): Promise<Answer> {
  const { params, key } = call;
  const held = await deps.world.find(key.namespace, params.sandboxID);
  if (held === undefined) throw noSandbox(params.sandboxID);
  call.trail.about({ name: params.sandboxID, uid: held.claim.metadata.uid ?? '' });
  if (!(await killSandbox(deps, held))) throw noSandbox(params.sandboxID);
  return { status: 204 };
}

/** The key's own sandbox of that id, named in the audit log. */
async function named(deps: Deps, { params, key, trail }: TenantCall<Id>): ReturnType<typeof ownSandbox> {
  const held = await ownSandbox(deps, key, params.sandboxID);
  trail.about({ name: params.sandboxID, uid: held.claim.metadata.uid ?? '' });
  return held;
}

function timeRoutes(deps: Deps): readonly Route[] {
  const shape = { method: 'post', params: sandboxId, tag: TAG, answers: done } as const;
  return [
    route(
      {
        ...shape,
        id: 'setSandboxTimeout',
        path: '/sandboxes/{sandboxID}/timeout',
        summary: 'Sets the end of a running sandbox, counted from now.',
        body: schemas.timeoutRequest,
        action: 'sandbox.timeout',
      },
      async ({ key, params, body, trail }) => {
        const { maxTimeoutSeconds } = allowanceOf(key, deps.settings);
        const timeoutSeconds = Math.max(0, body.timeout);
        if (timeoutSeconds > 0) assertTimeout(timeoutSeconds, maxTimeoutSeconds);
        const held = await runningSandbox(deps, key, params.sandboxID);
        trail.about({ name: params.sandboxID, uid: held.claim.metadata.uid ?? '' });
        const endMs = deps.clock.now() + timeoutSeconds * 1_000;
        await patchClaim(deps, held, ({ claim }) => endPatch(claim, { endMs, timeoutSeconds }));
        return { status: 204 };
      },
    ),
    route(
      {
        ...shape,
        id: 'refreshSandbox',
        path: '/sandboxes/{sandboxID}/refreshes',
        summary: 'Gives a running sandbox more time, never less.',
        body: schemas.refreshRequest,
        action: 'sandbox.refresh',
      },
      async ({ key, params, body, trail }) => {
        const held = await runningSandbox(deps, key, params.sandboxID);
        trail.about({ name: params.sandboxID, uid: held.claim.metadata.uid ?? '' });
        await extended(deps, held, body.duration ?? 15);
        return { status: 204 };
      },
    ),
    route(
      {
        ...shape,
        id: 'updateSandboxNetwork',
        method: 'put',
        path: '/sandboxes/{sandboxID}/network',
        summary: 'Replaces the egress rules of a sandbox; only what the template already does can be asked for.',
        body: schemas.networkUpdate,
        action: 'sandbox.network',
      },
      async ({ key, params, body, trail }) => {
        const held = await runningSandbox(deps, key, params.sandboxID);
        trail.about({ name: params.sandboxID, uid: held.claim.metadata.uid ?? '' });
        assertEnforceable(body, body.allow_internet_access);
        return { status: 204 };
      },
    ),
  ];
}

function readRoutes(deps: Deps): readonly Route[] {
  const list = { tag: TAG, method: 'get' } as const;
  return [
    route(
      {
        ...list,
        id: 'listSandboxesV2',
        path: '/v2/sandboxes',
        summary: 'Lists the sandboxes of the team, page by page.',
        query: schemas.listQuery,
        answers: {
          200: {
            description: 'A page.',
            schema: z.array(schemas.listedSandbox),
            headers: z.object({
              'x-next-token': z.string().optional().meta({ description: 'The next page; absent on the last.' }),
            }),
          },
        },
      },
      async ({ key, query }) => listSandboxes(deps, key, query),
    ),
    route(
      {
        ...list,
        id: 'listSandboxes',
        path: '/sandboxes',
        summary: 'Lists the running sandboxes of the team.',
        query: schemas.oldListQuery,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.listedSandbox) } },
      },
      async ({ key, query }) => {
        const wanted = filterOf({ ...query, state: ['running'], startedAfter: undefined, template: undefined });
        return { status: 200, body: sandboxesOf(deps, key).filter(wanted) };
      },
    ),
    route(
      {
        ...list,
        id: 'getSandbox',
        path: '/sandboxes/{sandboxID}',
        summary: 'Says all about a sandbox.',
        params: sandboxId,
        answers: { 200: { description: 'The sandbox.', schema: schemas.sandboxDetail } },
      },
      async ({ key, params }) => ({ status: 200, body: await sandboxDetail(deps, key, params.sandboxID) }),
    ),
    route(
      {
        ...list,
        id: 'getSandboxMetrics',
        path: '/sandboxes/{sandboxID}/metrics',
        summary: 'Says how much a sandbox uses now.',
        params: sandboxId,
        query: schemas.metricsQuery,
        answers: {
          200: {
            description: 'One sample, or none when its daemon does not answer.',
            schema: z.array(schemas.sandboxMetric),
          },
        },
      },
      async ({ key, params, signal }) => {
        const held = await ownSandbox(deps, key, params.sandboxID);
        return { status: 200, body: await metricsOf(deps, held, signal) };
      },
    ),
  ];
}

function templateRoutes(deps: Deps): readonly Route[] {
  const shape = { tag: 'E2B templates', method: 'get' } as const;
  const one = { description: 'The template.', schema: schemas.templateAnswer };
  return [
    route(
      {
        ...shape,
        id: 'listTemplates',
        path: '/templates',
        summary: 'Lists pools, and templates without a pool.',
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.templateAnswer) } },
      },
      async ({ key }) => ({ status: 200, body: templatesOf(deps, key) }),
    ),
    route(
      {
        ...shape,
        id: 'getTemplateAlias',
        path: '/templates/aliases/{alias}',
        summary: 'Says whether a template of that name exists.',
        params: schemas.aliasParams,
        answers: { 200: { description: 'It does.', schema: schemas.aliasAnswer } },
      },
      async ({ key, params }) => {
        const { name } = await findOrigin(deps, key, params.alias);
        return { status: 200, body: { templateID: name, public: false } };
      },
    ),
    route(
      {
        ...shape,
        id: 'getTemplate',
        path: '/templates/{templateID}',
        summary: 'Says what a template is like.',
        params: schemas.templateParams,
        answers: { 200: one },
      },
      async ({ key, params }) => ({ status: 200, body: await oneTemplate(deps, key, params.templateID) }),
    ),
    route(
      {
        ...shape,
        method: 'delete',
        id: 'deleteTemplate',
        path: '/templates/{templateID}',
        summary: 'Refused: templates and pools are deleted where they were made.',
        params: schemas.templateParams,
        answers: {},
        action: 'template.delete',
      },
      async ({ key, params }) => {
        await findOrigin(deps, key, params.templateID);
        const message = `template '${params.templateID}' belongs to the installation and cannot be deleted over this API`;
        throw new ApiError({ status: 403, message });
      },
    ),
  ];
}

function healthRoute(): Route {
  return publicRoute(
    {
      id: 'health',
      method: 'get',
      path: '/health',
      summary: 'Says that the API answers.',
      tag: 'health',
      answers: { 200: { description: 'It does.' } },
    },
    async () => ({ status: 200, text: { type: 'text/plain', content: 'ok\n' } }),
  );
}

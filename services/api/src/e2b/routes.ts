// The E2B dialect: version 1 and 2 of each operation side by side (E2B contract, route table).
import { z } from 'zod';
import type { Deps } from '../wiring/deps.ts';
import { conflict, noSandbox } from '../errors/api-error.ts';
import { endpoint, publicRoute, route } from '../http/route.ts';
import type { Answer, AnswerSpec, Route, TenantCall } from '../http/route.ts';
import { assertTimeout } from '../claim/from-e2b.ts';
import { createSandbox } from './operations/create.ts';
import { readEgress } from './request/egress.ts';
import { retentionIn } from './request/control-keys.ts';
import {
  connectSandbox,
  extended,
  killSandbox,
  ownSandbox,
  patchClaim,
  pauseSandbox,
  runningSandbox,
} from './operations/lifecycle.ts';
import { endPatch } from '../claim/lifetime.ts';
import { replaceEgress } from './operations/replace-egress.ts';
import { e2bReadRoutes } from './read-routes.ts';
import * as schemas from './request/schemas.ts';
import { allowanceOf } from '../limits/allowance.ts';
import { answerOf } from './answer/tokens.ts';
import { stateOf } from './answer/view.ts';

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
  return [
    ...createRoutes(deps),
    ...lifeRoutes(deps),
    ...endRoutes(deps),
    ...timeRoutes(deps),
    networkRoute(deps),
    ...e2bReadRoutes(deps),
    healthRoute(),
  ];
}

function createRoutes(deps: Deps): readonly Route[] {
  const answers = { 201: created };
  return [
    route(
      {
        ...endpoint('createSandboxV2', 'post /v2/sandboxes', 'Creates a sandbox.'),
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
        ...endpoint('createSandbox', 'post /sandboxes', 'Creates a sandbox (version 1).'),
        tag: TAG,
        headers: idempotency,
        body: schemas.newSandboxV1,
        answers,
        action: 'sandbox.create',
      },
      (call) => createSandbox(deps, call),
    ),
  ];
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
        ...endpoint('connectSandboxV2', 'post /v2/sandboxes/{sandboxID}/connect', 'Connects, resuming if needed.'),
        ...shape,
        body: schemas.connectV2,
        answers: connected,
        action: 'sandbox.connect',
      },
      (call) => connect(deps, call),
    ),
    route(
      {
        ...endpoint(
          'connectSandbox',
          'post /sandboxes/{sandboxID}/connect',
          'Connects, resuming if needed (version 1).',
        ),
        ...shape,
        body: schemas.connectV1,
        answers: connected,
        action: 'sandbox.connect',
      },
      (call) => connect(deps, call),
    ),
    route(
      {
        ...endpoint('resumeSandbox', 'post /sandboxes/{sandboxID}/resume', 'Resumes a paused sandbox.'),
        ...shape,
        body: schemas.resumeRequest,
        answers,
        action: 'sandbox.resume',
      },
      (call) => resume(deps, call),
    ),
  ];
}

function endRoutes(deps: Deps): readonly Route[] {
  const shape = { params: sandboxId, tag: TAG } as const;
  return [
    route(
      {
        ...endpoint(
          'pauseSandbox',
          'post /sandboxes/{sandboxID}/pause',
          'Pauses a sandbox: its volumes stay, its memory does not.',
        ),
        ...shape,
        body: schemas.pauseRequest,
        answers: done,
        action: 'sandbox.pause',
      },
      (call) => pause(deps, call),
    ),
    route(
      {
        ...endpoint('killSandbox', 'delete /sandboxes/{sandboxID}', 'Kills a sandbox, running or paused.'),
        ...shape,
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
  const shape = { params: sandboxId, tag: TAG, answers: done } as const;
  return [
    route(
      {
        ...endpoint(
          'setSandboxTimeout',
          'post /sandboxes/{sandboxID}/timeout',
          'Sets the end of a running sandbox, counted from now.',
        ),
        ...shape,
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
        ...endpoint(
          'refreshSandbox',
          'post /sandboxes/{sandboxID}/refreshes',
          'Gives a running sandbox more time, never less.',
        ),
        ...shape,
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
  ];
}

function networkRoute(deps: Deps): Route {
  return route(
    {
      ...endpoint(
        'updateSandboxNetwork',
        'put /sandboxes/{sandboxID}/network',
        'Replaces the egress rules of a sandbox, which can only narrow those of its template; answers when they hold.',
      ),
      params: sandboxId,
      tag: TAG,
      answers: done,
      body: schemas.networkUpdate,
      action: 'sandbox.network',
    },
    async ({ key, params, body, trail }) => {
      const wish = readEgress(body, body.allow_internet_access);
      const held = await runningSandbox(deps, key, params.sandboxID);
      trail.about({ name: params.sandboxID, uid: held.claim.metadata.uid ?? '' });
      await replaceEgress(deps, held, wish);
      return { status: 204 };
    },
  );
}

function healthRoute(): Route {
  return publicRoute(
    {
      ...endpoint('health', 'get /health', 'Says that the API answers.'),
      tag: 'health',
      answers: { 200: { description: 'It does.' } },
    },
    async () => ({ status: 200, text: { type: 'text/plain', content: 'ok\n' } }),
  );
}

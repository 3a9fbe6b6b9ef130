import { findTargetProblem, formatTeamId } from '@sandlot/team-events';
import type { TargetRules, Webhook } from '@sandlot/team-events';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { badRequest } from '../../errors/api-error.ts';
import { noWebhooks } from '../../errors/webhook-errors.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route, TenantCall } from '../../http/route.ts';
import * as schemas from './schemas.ts';
import { WebhookStore } from './store.ts';
import type { WebhookStoreOptions } from './store.ts';
import { createWebhookWorker } from './worker.ts';
import type { WebhookWorker } from './worker.ts';

export interface WebhookDeps extends Pick<WebhookStoreOptions, 'client' | 'webhooksLimit'> {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Undefined: the installation has no webhooks. */
  readonly hooks: { readonly namespace: string; readonly workerUrl: string; readonly targets: TargetRules } | undefined;
}

const shape = { tag: 'E2B webhooks' } as const;
const one = { description: 'The webhook, without its secret.', schema: schemas.webhookAnswer };
const path = '/events/webhooks/{webhookID}';

/** Webhooks of a team. Their secrets can be written, and never read. */
export function buildWebhookRoutes(deps: WebhookDeps): readonly Route[] {
  return [...buildReads(deps), ...buildWrites(deps), ...buildDeliveryRoutes(deps)];
}

function buildReads(deps: WebhookDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('listWebhooks', 'get /events/webhooks', 'Lists the webhooks of the team.'),
        ...shape,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.webhookAnswer) } },
      },
      async ({ key }) => ({ status: 200, body: (await open(deps, key.namespace).store.list()).map(buildAnswer) }),
    ),
    route(
      {
        ...endpoint('getWebhook', `get ${path}`, 'Says where a webhook sends which events.'),
        ...shape,
        params: schemas.webhookParams,
        answers: { 200: one },
      },
      async ({ key, params }) => ({
        status: 200,
        body: buildAnswer(await open(deps, key.namespace).store.get(params.webhookID)),
      }),
    ),
  ];
}

function buildWrites(deps: WebhookDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('createWebhook', 'post /events/webhooks', 'Has events of sandboxes sent to an address.'),
        ...shape,
        body: schemas.newWebhook,
        answers: { 201: one },
        action: 'webhook.create',
      },
      async (call) => {
        const { store, worker, checkUrl } = open(deps, call.key.namespace);
        checkUrl(call.body.url);
        const created = await store.create(call.body);
        await worker.awaitSeen(created);
        return { status: 201, body: tell(call, created) };
      },
    ),
    route(
      {
        ...endpoint('updateWebhook', `patch ${path}`, 'Changes a webhook.'),
        ...shape,
        params: schemas.webhookParams,
        body: schemas.webhookUpdate,
        answers: { 200: one },
        action: 'webhook.update',
      },
      async (call) => {
        const { store, checkUrl } = open(deps, call.key.namespace);
        if (call.body.url !== undefined) checkUrl(call.body.url);
        return { status: 200, body: tell(call, await store.update(call.params.webhookID, call.body)) };
      },
    ),
    route(
      {
        ...endpoint('deleteWebhook', `delete ${path}`, 'Deletes a webhook with its deliveries.'),
        ...shape,
        params: schemas.webhookParams,
        answers: { 200: { description: 'Done.' } },
        action: 'webhook.delete',
      },
      async (call) => {
        tell(call, await open(deps, call.key.namespace).store.remove(call.params.webhookID));
        return { status: 200 };
      },
    ),
  ];
}

function buildDeliveryRoutes(deps: WebhookDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('listWebhookDeliveries', `get ${path}/deliveries`, 'Lists what was sent, or is to be sent again.'),
        ...shape,
        params: schemas.webhookParams,
        query: schemas.webhookDeliveryQuery,
        answers: { 200: { description: 'A page.', schema: schemas.deliveriesAnswer } },
      },
      async ({ key, params, query }) => {
        const { store, worker } = open(deps, key.namespace);
        return { status: 200, body: await worker.readDeliveries(await store.get(params.webhookID), query) };
      },
    ),
    route(
      {
        ...endpoint('getWebhookStats', `get ${path}/stats`, 'Counts the deliveries that are kept.'),
        ...shape,
        params: schemas.webhookParams,
        query: schemas.webhookStatsQuery,
        answers: { 200: { description: 'The counts.', schema: schemas.statsAnswer } },
      },
      async ({ key, params, query }) => {
        const { store, worker } = open(deps, key.namespace);
        return { status: 200, body: await worker.readStats(await store.get(params.webhookID), query) };
      },
    ),
    route(
      {
        ...endpoint(
          'replayWebhookDelivery',
          `post ${path}/deliveries/{eventID}/replay`,
          'Sends an event again whose delivery has ended.',
        ),
        ...shape,
        params: schemas.replayParams,
        answers: { 202: { description: 'It is queued.' } },
        action: 'webhook.replay',
      },
      async (call) => {
        const { store, worker } = open(deps, call.key.namespace);
        const webhook = await store.get(call.params.webhookID);
        tell(call, webhook);
        await worker.replay(webhook, call.params.eventID);
        return { status: 202 };
      },
    ),
  ];
}

interface Opened {
  readonly store: WebhookStore;
  readonly worker: WebhookWorker;
  /** Throws an ApiError 400. */
  readonly checkUrl: (url: string) => void;
}

/** Throws an ApiError 503 where the installation has no webhooks. */
function open({ client, webhooksLimit, hooks, clock }: WebhookDeps, namespace: string): Opened {
  if (hooks === undefined) throw noWebhooks();
  return {
    store: new WebhookStore({ client, webhooksLimit, hooksNamespace: hooks.namespace }, namespace),
    worker: createWebhookWorker(hooks.workerUrl, clock),
    checkUrl: (url) => {
      const problem = findTargetProblem(url, hooks.targets);
      if (problem !== undefined) throw badRequest(problem);
    },
  };
}

/** Names the webhook in the audit record of the request. */
function tell({ trail }: Pick<TenantCall, 'trail'>, webhook: Webhook): schemas.WebhookAnswer {
  trail.about({ name: webhook.name, uid: webhook.id });
  return buildAnswer(webhook);
}

function buildAnswer({ id, namespace, name, createdAt, url, enabled, events }: Webhook): schemas.WebhookAnswer {
  const created = new Date(Date.parse(createdAt) || 0).toISOString();
  return { id, teamId: formatTeamId(namespace), name, createdAt: created, url, enabled, events };
}

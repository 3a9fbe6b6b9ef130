import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WorkQueue } from '@sandlot/jobs/work';
import type { Clock, Logger } from '@sandlot/std';
import { deliveryQuery, statsQuery } from '@sandlot/team-events';
import type { Webhook } from '@sandlot/team-events';
import { listen } from '@sandlot/telemetry';
import type { DeliveryStore } from '../store/delivery-store.ts';

const PATH = /^\/webhooks\/([0-9a-f-]{36})\/(deliveries|stats)(?:\/([0-9a-f-]{36})\/replay)?$/u;
/** A question reads all deliveries of a webhook. */
const MOST_TOGETHER = 8;
const PATIENCE_MS = 10_000;

export interface PortOptions {
  readonly port: number;
  readonly store: Pick<DeliveryStore, 'readPage' | 'readStats' | 'replay'>;
  readonly queue: Pick<WorkQueue, 'add' | 'hurry'>;
  readonly find: (id: string) => Webhook | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Serves the API alone: `GET /webhooks/<id>/deliveries` and `/stats`, `POST /webhooks/<id>/deliveries/<event>/replay`. Only who can read
 * the Secret of a webhook has its token. Rejects when the port cannot be bound.
 */
export function servePort(options: PortOptions): ReturnType<typeof listen> {
  const running = { count: 0 };
  return listen({ port: options.port, requestTimeoutMs: PATIENCE_MS }, (request, response) => {
    if (running.count >= MOST_TOGETHER) {
      send(response, refuse(503, 'too many questions at a time'));
      return;
    }
    running.count += 1;
    void answer(options, request)
      .catch((error: unknown) => {
        options.log.warn({ err: error }, 'a question about deliveries failed');
        return refuse(503, 'this cannot be answered at the moment');
      })
      .then((answered) => {
        running.count -= 1;
        send(response, answered);
      });
  });
}

async function answer(options: PortOptions, request: IncomingMessage): Promise<Answer> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://port');
  const [, id = '', what, event] = PATH.exec(pathname) ?? [];
  const webhook = options.find(id);
  if (webhook === undefined) return refuse(404, 'there is no such webhook');
  if (!isAuthorized(request.headers.authorization, webhook)) return refuse(401, 'only the API may ask');
  return answerAbout(options, webhook, {
    what: [request.method, what, event === undefined ? '' : 'replay'].join(' '),
    event: event ?? '',
    query: Object.fromEntries(searchParams),
  });
}

interface Question {
  readonly what: string;
  readonly event: string;
  readonly query: Readonly<Record<string, string>>;
}

async function answerAbout(options: PortOptions, webhook: Webhook, { what, event, query }: Question): Promise<Answer> {
  switch (what) {
    case 'GET deliveries ':
      return { status: 200, body: await options.store.readPage(webhook.id, deliveryQuery.parse(query)) };
    case 'GET stats ':
      return { status: 200, body: await options.store.readStats(webhook.id, statsQuery.parse(query)) };
    case 'POST deliveries replay':
      return replay(options, webhook, event);
    default:
      return refuse(404, 'there is no such path');
  }
}

async function replay({ store, queue, clock }: PortOptions, { id }: Webhook, event: string): Promise<Answer> {
  const outcome = await store.replay(id, event, clock.now());
  if (outcome === 'unknown') return refuse(404, 'there is no such delivery');
  if (outcome === 'pending') return refuse(409, 'the delivery is still tried');
  await queue.add(id);
  await queue.hurry(id);
  return { status: 202, body: {} };
}

function isAuthorized(header: string | undefined, { accessToken }: Webhook): boolean {
  const [given, wanted] = [Buffer.from(header ?? ''), Buffer.from(`Bearer ${accessToken}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function refuse(status: number, message: string): Answer {
  return { status, body: { message } };
}

function send(response: ServerResponse, { status, body }: Answer): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(`${JSON.stringify(body)}\n`);
}

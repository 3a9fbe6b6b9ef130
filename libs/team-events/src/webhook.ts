// A webhook of a team as a Secret of the namespace of webhooks.
import { labels } from '@sandlot/api-types';
import type { Secret } from '@sandlot/kube';
import { z } from 'zod';
import { sandboxEventTypes } from './sandbox-event.ts';

const fields = z.object({
  id: z.uuid(),
  name: z.string(),
  url: z.string(),
  events: z.array(z.enum(sandboxEventTypes)),
  enabled: z.boolean(),
});

/** What a webhook is, and what only the two services know of it. */
export interface Webhook extends z.output<typeof fields> {
  /** The namespace whose events it gets. */
  readonly namespace: string;
  /** RFC 3339, by the clock of the API server; empty before it is stored. */
  readonly createdAt: string;
  readonly signatureSecret: string;
  /** By which the API shows the worker that it may ask about this webhook. No client ever sees it. */
  readonly accessToken: string;
}

const TYPE = 'sandlot.dev/webhook';
const PREFIX = 'webhook-';

/** Name of the Secret of the webhook with that id. */
export function formatWebhookName(id: string): string {
  return `${PREFIX}${id}`;
}

/** The selector of the webhooks of a namespace. */
export function selectWebhooks(namespace: string): string {
  return `${labels.webhook}=true,${labels.tenant}=${namespace}`;
}

/** The Secret of a webhook. Its URL is in the data, because it may have credentials. */
export function buildWebhookSecret(webhook: Webhook, hooksNamespace: string): Secret {
  return {
    metadata: {
      namespace: hooksNamespace,
      name: formatWebhookName(webhook.id),
      labels: { [labels.webhook]: 'true', [labels.tenant]: webhook.namespace },
    },
    type: TYPE,
    data: encodeWebhook(webhook),
  };
}

/** The data of the Secret. */
export function encodeWebhook({ id, name, url, events, enabled, signatureSecret, accessToken }: Webhook) {
  const texts = { webhook: JSON.stringify({ id, name, url, events, enabled }), signatureSecret, accessToken };
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
}

/** The webhook of a Secret; undefined for any other Secret, and for a malformed one. */
export function readWebhook({ metadata, type, data = {} }: Secret): Webhook | undefined {
  const { [labels.tenant]: namespace, [labels.webhook]: mark } = metadata.labels ?? {};
  if (type !== TYPE || mark !== 'true' || namespace === undefined) return undefined;
  const read = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
  const { data: parsed } = fields.safeParse(parseJson(read('webhook')));
  const kept = { signatureSecret: read('signatureSecret'), accessToken: read('accessToken') };
  if (parsed === undefined || Object.values(kept).includes('')) return undefined;
  if (metadata.name !== formatWebhookName(parsed.id)) return undefined;
  return { ...parsed, ...kept, namespace, createdAt: metadata.creationTimestamp ?? '' };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

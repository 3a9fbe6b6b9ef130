import { randomBytes, randomUUID } from 'node:crypto';
import { isConflict, isNotFound, isUnknownOutcome, secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';
import {
  buildWebhookSecret,
  encodeWebhook,
  formatWebhookName,
  readWebhook,
  selectWebhooks,
} from '@sandlot/team-events';
import type { Webhook } from '@sandlot/team-events';
import { conflict } from '../../errors/refusals.ts';
import { noWebhook, tooManyWebhooks } from '../../errors/webhook-errors.ts';
import type { NewWebhook, WebhookUpdate } from './schemas.ts';

export interface WebhookStoreOptions {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find' | 'listAll' | 'mergePatch'>;
  /** Where the webhooks are. No tenant has a right there. */
  readonly hooksNamespace: string;
  /** Webhooks that a namespace may have. */
  readonly webhooksLimit: number;
}

interface Found {
  readonly secret: Secret;
  readonly webhook: Webhook;
}

const TOKEN_BYTES = 32;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
/** How often an update tries again after another one. */
const MAX_TRIES = 8;

/** The webhooks of one namespace. It reads the API server, because another replica may have written a moment ago. Methods throw an ApiError. */
export class WebhookStore {
  readonly #options: WebhookStoreOptions;
  readonly #namespace: string;

  constructor(options: WebhookStoreOptions, namespace: string) {
    this.#options = options;
    this.#namespace = namespace;
  }

  /** The oldest first. */
  async list(): Promise<readonly Webhook[]> {
    const { client, hooksNamespace: namespace } = this.#options;
    const { items } = await client.listAll(secrets, { namespace, labelSelector: selectWebhooks(this.#namespace) });
    return items.flatMap((secret) => this.#view(secret)?.webhook ?? []).sort(compare);
  }

  /** Throws an ApiError 404. */
  async get(id: string): Promise<Webhook> {
    return (await this.#get(id)).webhook;
  }

  /** Throws an ApiError 429 if the namespace has as many as it may have. */
  async create(wish: NewWebhook): Promise<Webhook> {
    const { client, hooksNamespace, webhooksLimit } = this.#options;
    if ((await this.list()).length >= webhooksLimit) throw tooManyWebhooks(webhooksLimit);
    const tokens = { id: randomUUID(), accessToken: randomBytes(TOKEN_BYTES).toString('hex') };
    const webhook = { ...wish, ...tokens, namespace: this.#namespace, createdAt: '' };
    const created = await this.#create(client.create(secrets, buildWebhookSecret(webhook, hooksNamespace)), webhook.id);
    // Others may have been created meanwhile. Each of those that came too late finds too many, itself included.
    if ((await this.list()).length <= webhooksLimit) return created.webhook;
    await this.#delete(created.secret);
    throw tooManyWebhooks(webhooksLimit);
  }

  /** Throws an ApiError 404. */
  async update(id: string, wish: WebhookUpdate): Promise<Webhook> {
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const { secret, webhook } = await this.#get(id);
      const given = Object.entries(wish).filter(([, value]) => value !== undefined);
      const next: Webhook = { ...webhook, ...Object.fromEntries(given) };
      const { resourceVersion } = secret.metadata;
      try {
        const patch = { metadata: { resourceVersion }, data: encodeWebhook(next) };
        await this.#options.client.mergePatch(secrets, this.#key(secret), patch);
        return next;
      } catch (error) {
        if (isNotFound(error)) throw noWebhook();
        // The next try finds out what became of it: the same values are written again.
        if (!isConflict(error) && !isUnknownOutcome(error)) throw error;
      }
    }
    throw conflict('too many changes of this webhook at a time');
  }

  /** Throws an ApiError 404, also if another request deleted it first. */
  async remove(id: string): Promise<Webhook> {
    const { secret, webhook } = await this.#get(id);
    if (!(await this.#delete(secret))) throw noWebhook();
    return webhook;
  }

  /** After a lost answer the webhook may be there all the same. */
  async #create(creating: Promise<Secret>, id: string): Promise<Found> {
    try {
      const found = this.#view(await creating);
      if (found !== undefined) return found;
    } catch (error) {
      if (!isUnknownOutcome(error)) throw error;
      const found = await this.#find(id);
      if (found === undefined) throw error;
      return found;
    }
    throw new Error('the API server changed a webhook');
  }

  async #get(id: string): Promise<Found> {
    const found = UUID.test(id) ? await this.#find(id) : undefined;
    if (found === undefined) throw noWebhook();
    return found;
  }

  async #find(id: string): Promise<Found | undefined> {
    const { client, hooksNamespace: namespace } = this.#options;
    const secret = await client.find(secrets, { namespace, name: formatWebhookName(id) });
    return secret === undefined ? undefined : this.#view(secret);
  }

  /** Undefined for one of another team. */
  #view(secret: Secret): Found | undefined {
    const webhook = readWebhook(secret);
    return webhook?.namespace === this.#namespace ? { secret, webhook } : undefined;
  }

  /** False if it is gone. */
  async #delete(secret: Secret): Promise<boolean> {
    try {
      await this.#options.client.delete(secrets, this.#key(secret), { uid: secret.metadata.uid });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  #key({ metadata: { name = '' } }: Secret) {
    return { namespace: this.#options.hooksNamespace, name };
  }
}

function compare(a: Webhook, b: Webhook): number {
  return [a.createdAt, a.id].join() < [b.createdAt, b.id].join() ? -1 : 1;
}

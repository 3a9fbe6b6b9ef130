import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { sandboxClaims } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { createKey, revokeKey } from '@sandlot/tenancy';
import type { KeyLimits } from '@sandlot/tenancy';
import { inject } from 'vitest';
import { findReadyCondition } from '../sandboxes.ts';
import { readAccess } from '../sdk/client.ts';
import { ask } from '../sdk/http.ts';
import { eventually } from '../team.ts';
import type { Account } from './account.ts';
import { complete, draft, buildPath } from './drafts.ts';
import type { Draft } from './drafts.ts';

/** Status and body of an HTTP answer. */
export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Sends a request such as `GET /sandboxes` to the API, through the gateway, with an API key. */
export async function callApi(request: string, key: string, body?: object): Promise<Reply> {
  const [method, path] = request.split(' ');
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await ask(undefined, { method: method ?? 'GET', path: path ?? '/', headers, ...sent });
  return { status: answer.statusCode ?? 0, body: await text(answer) };
}

/** Makes an API key, of a tenant unless asked otherwise, and waits until the API knows it. Disposing revokes it. */
export async function openKey(
  client: KubeClient,
  namespace: string,
  { role = 'tenant', ...limits }: KeyLimits & { readonly role?: 'tenant' | 'admin' },
): Promise<AsyncDisposable & { readonly text: string }> {
  const place = { client, namespace: `${inject('releaseNamespace')}-keys` };
  const input = { namespace, team: namespace, role, description: 'made by a test', limits } as const;
  const { key, text: made } = await createKey(place, input);
  await eventually('the API knows the key', async () => {
    const { status } = await callApi('GET /api/v1/key', made);
    return status === 200 ? true : undefined;
  });
  return {
    text: made,
    [Symbol.asyncDispose]: async () => {
      await revokeKey(place, key.id);
    },
  };
}

/** Sends these bytes to the gateway and returns everything that comes back until it closes the connection. */
export async function sendBytes(bytes: string): Promise<string> {
  const { hostname, port } = new URL((await readAccess()).apiUrl);
  const chunks: Buffer[] = [];
  const socket = connect(Number(port), hostname);
  // The gateway may reset a connection on which bytes are left that it does not read.
  socket.on('error', () => undefined).on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

/** The statuses of all HTTP answers in a text. */
export function listStatuses(answers: string): string[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status);
}

interface Named {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Creates objects as a tenant, and removes them in the end. */
export class Belongings implements AsyncDisposable {
  readonly #account: Account;
  readonly #namespace: string;
  readonly #made: string[] = [];

  constructor(account: Account, namespace: string) {
    this.#account = account;
    this.#namespace = namespace;
  }

  /** Tries to create an object, without storing it. Returns why it is refused; empty if it is not. */
  async try(object: Draft): Promise<string> {
    const path = `${buildPath(object.kind, this.#namespace)}?dryRun=All`;
    const { status, message } = await this.#account.send({ method: 'POST', path, body: complete(object, 'tried') });
    return status === 201 ? '' : `${status} ${message}`;
  }

  /** Creates an object in a collection, with fields beside its metadata. Throws when it is refused. */
  async add(collection: string, metadata: Named, fields: object): Promise<void> {
    const body = { ...fields, metadata };
    const { status, message } = await this.#account.send({ method: 'POST', path: collection, body });
    if (status !== 201) throw new Error(`POST ${collection} ${metadata.name}: ${status} ${message}`);
    this.#made.push(`${collection}/${metadata.name}`);
  }

  /** Creates an object of Sandlot. Throws when it is refused. */
  async create(name: string, object: Draft): Promise<void> {
    await this.add(buildPath(object.kind, this.#namespace), { ...object.metadata, name }, complete(object, name));
  }

  /** Creates a claim. Throws when it is refused. */
  async claim(name: string, spec: object): Promise<void> {
    await this.create(name, { ...draft('SandboxClaim'), spec: { ...spec } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const path of this.#made.toReversed()) await this.#account.send({ method: 'DELETE', path });
  }
}

/** A variable of a claim with a value from a Secret. */
export function buildEnv(name: string, key = 'value'): object {
  return { name: 'LOOT', valueFrom: { secretKeyRef: { name, key } } };
}

/** Waits until a claim says why it has no Sandbox. Returns the reason and the message. */
export function waitForRefusal(client: KubeClient, namespace: string, name: string): Promise<string> {
  return eventually(`claim ${name} is refused`, async () => {
    const claim = await client.get(sandboxClaims, { namespace, name });
    const { reason, message } = findReadyCondition(claim) ?? {};
    return REFUSED.has(reason ?? '') ? `${reason ?? ''}: ${message ?? ''} ${claim.status?.message ?? ''}` : undefined;
  });
}

const REFUSED = new Set([
  'TemplateNotFound',
  'WarmPoolNotFound',
  'ReconcilerError',
  'InvalidConfiguration',
  'DynamicVolumesRejected',
]);

/** Waits until a claim has its Sandbox, and returns the name of it. */
export function waitForSandbox(client: KubeClient, namespace: string, name: string): Promise<string> {
  return eventually(`claim ${name} is served`, async () => {
    const claim = await client.get(sandboxClaims, { namespace, name });
    return findReadyCondition(claim)?.status === 'True' ? claim.status?.sandbox?.name : undefined;
  });
}

/** A Secret from which claims of its namespace may take variables. Disposing deletes it. */
export async function openEnvSecret(
  client: KubeClient,
  key: { readonly namespace: string; readonly name: string },
  value: string,
): Promise<AsyncDisposable> {
  const metadata = { ...key, labels: { 'sandlot.dev/claim-env': 'true' } };
  await client.create(secrets, { metadata, data: { value: Buffer.from(value).toString('base64') } });
  return {
    [Symbol.asyncDispose]: async () => {
      await client.delete(secrets, key);
    },
  };
}

import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { AgentAway, AgentRefusal } from './agent-error.ts';
import { holdAnswer, listAnswer, manifest, nodeAnswer, refusal, restoreAnswer, uploaded } from './messages.ts';
import type { Manifest, RestoreAnswer, RestoreEnd, RestoreRequest, SaveRequest } from './messages.ts';
import type { RemoteData, SnapshotId, Uploaded, WithdrawEnd } from './messages.ts';

/** How agents are reached, beside their address. */
export interface AgentSettings {
  /** Folder with tls.crt, tls.key and ca.crt; read for each connection, so that new certificates need no restart. */
  readonly tlsDir: string;
  readonly port: number;
}

export interface AgentClientOptions extends AgentSettings {
  readonly clock: Clock;
  /** Address of the Pod of the agent. */
  readonly host: string;
}

/** The name in the certificate of every agent. */
const AGENT_NAME = 'sandlot-node';
const QUICK_MS = 15_000;
/** Longer than the agent waits for a save to end that the deletion cancels. */
const ERASE_MS = 75_000;
/** A save of many gigabytes onto a slow disk, or to the bucket. The controller then asks again, and joins it. */
const SAVE_MS = 15 * 60_000;
/** gVisor takes a while to resume a large Pod. */
const HOLD_MS = 30_000;
const WAIT_SECONDS = 20;

/** What is sent, and how long the answer may take. */
interface Message {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object | undefined;
  readonly limitMs: number;
}

/**
 * The API of one agent. Every method rejects with {@link AgentRefusal} for what the agent refuses, and with
 * {@link AgentAway} when there is no answer. Every request may be repeated.
 */
export class AgentClient {
  readonly #o: AgentClientOptions;

  constructor(options: AgentClientOptions) {
    this.#o = options;
  }

  async describeNode(signal: AbortSignal): Promise<z.output<typeof nodeAnswer>> {
    return this.#ask({ method: 'GET', path: '/v1/node', limitMs: QUICK_MS }, { answer: nodeAnswer, signal });
  }

  /** Saves, or joins the save. Resolves when the snapshot is complete. */
  async save(id: SnapshotId, request: SaveRequest, signal: AbortSignal): Promise<Manifest> {
    const { source, files, ...rest } = request;
    const { sandboxName, sandboxUID: sandboxUid, podName, podUID: podUid } = source;
    const body = { source: { sandboxName, sandboxUid, podName, podUid }, ...rest };
    const put = (all: object): Promise<Manifest> =>
      this.#ask({ method: 'PUT', path: formatPath(id), body: all, limitMs: SAVE_MS }, { answer: manifest, signal });
    return putFor({ body, more: { files: files === true ? files : undefined } }, put);
  }

  /**
   * Lets a Pod go on that stands still since its save. Rejects with the refusal `HoldEnded` when it did not stand still all
   * the time until now.
   */
  async endHold({ namespace, uid }: SnapshotId, signal: AbortSignal): Promise<'held'> {
    const path = `/v1/holds/${namespace}/${uid}`;
    const message = { method: 'POST', path, body: { action: 'release' }, limitMs: HOLD_MS } as const;
    await this.#ask(message, { answer: holdAnswer, signal }).catch(asAway);
    return 'held';
  }

  /** Copies a finished snapshot of the same namespace, or joins the copy. Resolves when the copy is complete. */
  copy({ namespace, uid }: SnapshotId, from: string, signal: AbortSignal): Promise<Manifest> {
    const path = `/v1/copies/${namespace}/${uid}`;
    return this.#ask({ method: 'PUT', path, body: { from }, limitMs: SAVE_MS }, { answer: manifest, signal });
  }

  /** Every finished snapshot of the node. */
  async list(signal: AbortSignal): Promise<readonly Manifest[]> {
    const message = { method: 'GET', path: '/v1/snapshots', limitMs: QUICK_MS } as const;
    return (await this.#ask(message, { answer: listAnswer, signal })).snapshots;
  }

  /**
   * Removes the data. A save in progress ends, and its Pod goes on; so does a Pod that stands still for the data, unless
   * `staysPaused`: its Sandbox went on somewhere else.
   */
  async erase(id: SnapshotId, staysPaused: boolean, signal: AbortSignal): Promise<'erased'> {
    const path = `${formatPath(id)}${staysPaused ? '?pod=stay' : ''}`;
    await this.#ask({ method: 'DELETE', path, limitMs: ERASE_MS }, { answer: z.undefined(), signal });
    return 'erased';
  }

  /** Puts a finished snapshot of the node into the bucket, or joins the upload. Resolves when the bucket has all of it. */
  upload({ namespace, uid }: SnapshotId, signal: AbortSignal): Promise<Uploaded> {
    const path = `/v1/uploads/${namespace}/${uid}`;
    const message = { method: 'PUT', path, body: {}, limitMs: SAVE_MS } as const;
    return this.#ask(message, { answer: uploaded, signal }).catch(asAwayUnlessBusy);
  }

  /** Makes what the bucket has a snapshot of the node, or joins the download. Resolves when the node has all of it. */
  download({ namespace }: SnapshotId, { uid, digest }: RemoteData, signal: AbortSignal): Promise<Manifest> {
    const path = `/v1/downloads/${namespace}/${uid}`;
    const message = { method: 'PUT', path, body: { digest }, limitMs: SAVE_MS } as const;
    return this.#ask(message, { answer: manifest, signal }).catch(asAwayUnlessLost);
  }

  /** Removes what the bucket has. An upload by this node ends. */
  async eraseRemote({ namespace, uid }: SnapshotId, signal: AbortSignal): Promise<'erased'> {
    const message = { method: 'DELETE', path: `/v1/remote/${namespace}/${uid}`, limitMs: ERASE_MS } as const;
    try {
      await this.#ask(message, { answer: z.undefined(), signal });
      return 'erased';
    } catch (error) {
      // The installation has no bucket any more, so that no agent can reach what is in it.
      if (error instanceof AgentRefusal && error.code === 'NotFound') return 'erased';
      return asAwayUnlessBusy(error);
    }
  }

  /** Lets the Pod have the snapshot and waits for the end. An agent that forgot the announcement gets it again. */
  async restore({ namespace, uid }: SnapshotId, pod: RestoreRequest, signal: AbortSignal): Promise<RestoreEnd> {
    const path = `/v1/restores/${pod.podUID}`;
    const body = { namespace, podName: pod.podName, snapshotUid: uid, only: pod.only };
    const put = (all: object): Promise<RestoreAnswer> =>
      this.#ask({ method: 'PUT', path, body: all, limitMs: QUICK_MS }, { answer: restoreAnswer, signal });
    const announce = (): Promise<RestoreAnswer> => putFor({ body, more: { spare: pod.spare } }, put);
    const wait = (): Promise<RestoreAnswer> => {
      const limitMs = WAIT_SECONDS * 1_000 + QUICK_MS;
      const message = { method: 'GET', path: `${path}?waitSeconds=${WAIT_SECONDS}`, limitMs } as const;
      return this.#ask(message, { answer: restoreAnswer, signal });
    };
    let { state, message } = await announce().catch(asAway);
    while (state !== 'Restored' && state !== 'Failed') {
      ({ state, message } = await wait().catch(againIfForgotten).catch(asAway));
    }
    return { state, message };

    function againIfForgotten(error: unknown): Promise<RestoreAnswer> {
      if (error instanceof AgentRefusal && error.code === 'Absent') return announce();
      throw error;
    }
  }

  async withdraw(podUID: string, signal: AbortSignal): Promise<WithdrawEnd> {
    try {
      const message = { method: 'DELETE', path: `/v1/restores/${podUID}`, limitMs: QUICK_MS } as const;
      await this.#ask(message, { answer: z.undefined(), signal });
      return 'withdrawn';
    } catch (error) {
      if (error instanceof AgentRefusal && error.code === 'Begun') return 'begun';
      return asAway(error);
    }
  }

  async #ask<T>(message: Message, how: { readonly answer: z.ZodType<T>; readonly signal: AbortSignal }): Promise<T> {
    const { statusCode = 0, body } = await this.#send(message, how.signal);
    const what = `${message.method} ${message.path}`;
    if (statusCode >= 200 && statusCode < 300) {
      const answer = how.answer.safeParse(body);
      if (answer.success) return answer.data;
      throw new AgentAway(`the agent answered to ${what} with something else than expected: ${answer.error.message}`);
    }
    const refused = refusal.safeParse(body);
    if (refused.success) throw new AgentRefusal(refused.data.code, refused.data.message);
    throw new AgentAway(`the agent answered ${statusCode} to ${what}`);
  }

  async #send(message: Message, outer: AbortSignal): Promise<{ readonly statusCode?: number; readonly body: unknown }> {
    const limit = new AbortController();
    const tooLate = new AgentAway(`no answer within ${message.limitMs / 1_000} s`);
    const timer = this.#o.clock.setTimeout(() => limit.abort(tooLate), message.limitMs);
    const signal = AbortSignal.any([outer, limit.signal]);
    try {
      const answer = await this.#open(message, signal);
      const content = await text(answer);
      const { statusCode } = answer;
      return { ...(statusCode === undefined ? {} : { statusCode }), body: parseJson(content) };
    } catch (error) {
      throw limit.signal.aborted ? tooLate : new AgentAway(getText(error), { cause: error });
    } finally {
      timer.cancel();
    }
  }

  async #open({ method, path, body }: Message, signal: AbortSignal): Promise<IncomingMessage> {
    const { tlsDir, host, port } = this.#o;
    const read = (name: string): Promise<string> => readFile(join(tlsDir, name), 'utf8');
    const [cert, key, ca] = await Promise.all([read('tls.crt'), read('tls.key'), read('ca.crt')]);
    const content = body === undefined ? undefined : JSON.stringify(body);
    const headers = content === undefined ? {} : { 'Content-Type': 'application/json' };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const tls = { cert, key, ca, servername: AGENT_NAME, minVersion: 'TLSv1.3' } as const;
    const sent = request({ host, port, method, path, headers, ...tls, agent: false, signal }, resolve);
    sent.on('error', reject);
    sent.end(content);
    return promise;
  }
}

interface Extended {
  readonly body: object;
  /** A field that older agents do not know, or undefined. */
  readonly more: Readonly<Record<string, true | undefined>>;
}

/** During an upgrade an agent may be older than this controller, and refuse a field that it does not know. It does without. */
async function putFor<T>({ body, more }: Extended, put: (all: object) => Promise<T>): Promise<T> {
  if (Object.values(more).every((value) => value === undefined)) return put(body);
  try {
    return await put({ ...body, ...more });
  } catch (error) {
    if (error instanceof AgentRefusal && error.code === 'Invalid') return put(body);
    throw error;
  }
}

/** What says nothing about the restore: the agent stops, or its disk fails. */
const TRANSIENT: ReadonlySet<string> = new Set(['Busy', 'Internal']);

/** A refusal ends a restore, and its memory is lost. One that only says "not now" is asked again, as if the agent were away. */
function asAway(error: unknown): never {
  if (error instanceof AgentRefusal && TRANSIENT.has(error.code)) throw new AgentAway(error.message, { cause: error });
  throw error;
}

/** A transfer is repeated until it succeeds, whatever the agent has against it. One that waits for its turn has not failed. */
function asAwayUnlessBusy(error: unknown): never {
  if (error instanceof AgentRefusal && error.code !== 'Busy') throw new AgentAway(error.message, { cause: error });
  throw error;
}

/** What no repetition changes: the bucket does not have it, or has something else. */
const LOST: ReadonlySet<string> = new Set(['Absent', 'RemoteRefused']);

/** A refusal ends a restore, and its memory is lost, so only what is certain counts as one. */
function asAwayUnlessLost(error: unknown): never {
  if (error instanceof AgentRefusal && !LOST.has(error.code)) throw new AgentAway(error.message, { cause: error });
  throw error;
}

function formatPath({ namespace, uid }: SnapshotId): string {
  return `/v1/snapshots/${namespace}/${uid}`;
}

function parseJson(content: string): unknown {
  if (content === '') return undefined;
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

function getText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import { once } from 'node:events';
import { createServer } from 'node:https';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import type { z } from 'zod';
import { saveBody, copyBody, uploadBody, downloadBody, holdBody, restoreBody } from './agent-bodies.ts';
import type { SaveBody } from './agent-bodies.ts';
import { agentIdentity, authority } from './certificates.ts';

/** One Pod that may go on from a snapshot. */
interface Grant {
  readonly snapshotUid: string;
  readonly only?: 'files' | undefined;
  readonly spare?: boolean | undefined;
  state: 'Announced' | 'Begun' | 'Restored' | 'Failed';
  message: string;
}

/** The manifest of a finished snapshot, as far as the agent itself reads it. */
interface Stored {
  readonly source?: { readonly podUid: string } | undefined;
  readonly mode?: string | undefined;
  readonly copyOf?: string | undefined;
}

/** Snapshots of the bucket by `namespace/uid`, which the agents of an installation share. */
export type Bucket = Map<string, { readonly stored: Stored; readonly digest: string }>;

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

interface Answer {
  readonly status: number;
  readonly body?: object;
}

const MACHINE = { runscVersion: 'release-20260905.0', ociVersion: '1.2.1', architecture: 'amd64', cpuFeatures: [] };
/** Label value of every test node. */
export const HASH = 'e8e5573af5881ef2';
export const BYTES = 5_767_168;

export interface TestAgentOptions {
  readonly node?: string;
  readonly host?: string;
  readonly port?: number;
  readonly identity?: { readonly cert: string; readonly key: string };
  /** Absent: the installation has none, and the agent no routes for it. */
  readonly bucket?: Bucket | undefined;
}

/** The agent of a node: a real HTTPS server that keeps the contract of the Agent API, without gVisor. */
export class TestAgent implements AsyncDisposable {
  readonly #server: Server;
  readonly #node: string;
  readonly bucket: Bucket | undefined;
  /** `METHOD /path` of every request, in the order of arrival. */
  readonly requests: string[] = [];
  /** Saves that were begun: a repeated request joins. */
  readonly begun: SaveBody[] = [];
  /** Copies that were made: a repeated request makes none. */
  readonly copies: { readonly from: string; readonly to: string }[] = [];
  /** UIDs of the finished snapshots. */
  readonly stored = new Map<string, Stored>();
  readonly grants = new Map<string, Grant>();
  /** `namespace/uid` of snapshots whose Pods stand still since they were saved, or whose hold was released in time. */
  readonly holds = new Map<string, 'held' | 'released'>();
  /** When the next saves end. */
  savedAt = '2026-01-01T12:00:00.123456789Z';
  /** The next saves end with this. */
  refusal: Refusal | undefined;
  /** The next requests about restores end with this. */
  restoreRefusal: Refusal | undefined;
  /** The next transfers between node and bucket end with this. */
  transferRefusal: Refusal | undefined;
  /** While true, transfers do not end by themselves. */
  holdsTransfers = false;
  /** UIDs of Pods that stand still for a hibernation on this node. */
  readonly paused = new Set<string>();
  /** An agent from before files were kept, and before restores were bounded. */
  isOld = false;
  /** While true, saves do not end by themselves. */
  holdsSaves = false;
  /** `METHOD /path` of requests that are answered as if the agent were gone. */
  readonly hides = new Set<string>();
  /** It answers so many changes, and does all later ones without an answer: its controller has died by then. */
  answers = Infinity;
  /** Requests that changed something. */
  changes = 0;
  readonly #saving = new Map<string, PromiseWithResolvers<Answer> & { readonly body: SaveBody }>();
  #changed = Promise.withResolvers<undefined>();

  readonly #transfers = new Set<(ended: undefined) => void>();

  private constructor(server: Server, node: string, bucket: Bucket | undefined) {
    this.#server = server;
    this.#node = node;
    this.bucket = bucket;
  }

  static async start(options: TestAgentOptions = {}): Promise<TestAgent> {
    const { node = 'node-1', host = '127.0.0.1', port = 0, identity = agentIdentity, bucket } = options;
    const tls = {
      ...identity,
      ca: authority,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
    } as const;
    const server = createServer(tls);
    const agent = new TestAgent(server, node, bucket);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void agent.#serve(request, response));
    server.listen(port, host);
    await once(server, 'listening');
    return agent;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Data of an object that may not exist. */
  addOrphan(namespace: string, savedAt: string, snapshotUid = 'uid-of-none'): void {
    const source = { sandboxUid: 'uid-of-a-sandbox', podName: 'orphaned', podUid: 'uid-of-a-pod' };
    const machine = { ...MACHINE, hash: HASH };
    const orphan = { namespace, snapshotUid, source, machine, mode: 'Hibernate', bytes: 1, savedAt };
    this.stored.set(`${namespace}/${snapshotUid}`, orphan);
  }

  /** Lets the held saves end. */
  finishSaves(): void {
    this.holdsSaves = false;
    for (const [key, { resolve, body }] of this.#saving) resolve(this.#endSave(key, body));
    this.#saving.clear();
  }

  /** Lets the held transfers end. */
  finishTransfers(): void {
    this.holdsTransfers = false;
    for (const finish of this.#transfers) finish(undefined);
  }

  /** The shim begins: from now on no withdrawal is possible. */
  begin(podUID: string): void {
    this.#grant(podUID).state = 'Begun';
    this.#announceChange();
  }

  /** The shim reports how the restore ended. */
  end(podUID: string, state: 'Restored' | 'Failed', message = ''): void {
    Object.assign(this.#grant(podUID), { state, message });
    this.#announceChange();
  }

  /** As an agent that was killed: connections break, and unused announcements are gone. */
  forget(): void {
    for (const [podUID, { state }] of this.grants) if (state === 'Announced') this.grants.delete(podUID);
    for (const { reject } of this.#saving.values()) reject(new Error('killed'));
    for (const finish of this.#transfers) finish(undefined);
    this.#saving.clear();
    this.#server.closeAllConnections();
    this.#announceChange();
  }

  /** As when their time is over: the Pods go on. */
  endHolds(): void {
    this.holds.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #grant(podUID: string): Grant {
    const grant = this.grants.get(podUID);
    if (grant === undefined) throw new Error(`Pod ${podUID} was not announced`);
    return grant;
  }

  #announceChange(): void {
    this.#changed.resolve(undefined);
    this.#changed = Promise.withResolvers();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    this.requests.push(`${method} ${url}`);
    if (method !== 'GET') this.changes += 1;
    const isUnheard = method !== 'GET' && this.changes > this.answers;
    try {
      if (this.hides.has(`${method} ${url}`)) throw new Error('hidden');
      const { status, body } = isController(request) ? await this.#answer(request) : FORBIDDEN;
      if (isUnheard) throw new Error('unheard');
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    } catch {
      response.destroy();
    }
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { pathname, search } = new URL(request.url ?? '', 'https://agent');
    const [, , collection = '', first = '', second = ''] = pathname.split('/');
    if (collection === 'node') return { status: 200, body: this.#describeNode() };
    if (collection === 'copies') return this.#copy(first, second, copyBody.parse(await json(request)));
    if (collection === 'snapshots') return this.#answerSnapshot(request, `${first}/${second}`, search);
    if (collection === 'restores') return this.#answerRestore(request, first);
    if (collection === 'holds') return this.#release(`${first}/${second}`, await json(request));
    return this.#answerTransfer(request, collection, `${first}/${second}`);
  }

  /** A repeated release has the same answer. */
  #release(key: string, body: unknown): Answer {
    holdBody.parse(body);
    if (!this.holds.has(key)) return HOLD_ENDED;
    this.holds.set(key, 'released');
    return { status: 200, body: { held: true } };
  }

  #describeNode(): object {
    return { node: this.#node, fingerprint: { ...MACHINE, hash: HASH }, freeBytes: 1, usedBytes: 0, saving: 0 };
  }

  async #answerTransfer(request: IncomingMessage, collection: string, key: string): Promise<Answer> {
    if (this.bucket === undefined || !TRANSFERS.has(collection)) return NOT_FOUND;
    const body: unknown = request.method === 'PUT' ? await json(request) : undefined;
    if (this.holdsTransfers) await this.#holdTransfer();
    if (this.transferRefusal !== undefined) return refuse(this.transferRefusal);
    if (collection === 'uploads') {
      uploadBody.parse(body);
      return this.#upload(key);
    }
    if (collection === 'downloads') return this.#download(key, downloadBody.parse(body));
    this.bucket.delete(key);
    return { status: 204 };
  }

  #holdTransfer(): Promise<undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#transfers.add(resolve);
    return promise.finally(() => this.#transfers.delete(resolve));
  }

  #upload(key: string): Answer {
    const stored = this.stored.get(key);
    if (stored === undefined) return ABSENT;
    const digest = `sha256:${key}`;
    this.bucket?.set(key, { stored, digest });
    return { status: 200, body: { ...stored, digest } };
  }

  /** The manifest is that of the upload. */
  #download(key: string, { digest }: z.output<typeof downloadBody>): Answer {
    const found = this.bucket?.get(key);
    if (found === undefined) return ABSENT;
    if (found.digest !== digest) return REMOTE_REFUSED;
    this.stored.set(key, found.stored);
    return { status: 200, body: found.stored };
  }

  async #answerSnapshot(request: IncomingMessage, key: string, search: string): Promise<Answer> {
    if (request.method === 'GET') return { status: 200, body: { snapshots: [...this.stored.values()] } };
    if (request.method === 'PUT') return this.#save(key, saveBody.parse(await json(request)));
    this.#saving.get(key)?.resolve(refuse({ status: 500, code: 'SaveFailed', message: 'the save was cancelled' }));
    this.#saving.delete(key);
    this.#wake(key, search === '?pod=stay');
    this.stored.delete(key);
    this.holds.delete(key);
    return { status: 204 };
  }

  /** The Pod of a hibernation goes on, unless another Pod began with it, or it shall stay. */
  #wake(key: string, stays: boolean): void {
    const { source, mode } = this.stored.get(key) ?? {};
    const snapshotUid = key.split('/')[1];
    const isSpent = [...this.grants.values()].some(
      (grant) => grant.snapshotUid === snapshotUid && grant.state !== 'Announced',
    );
    if (mode === 'Hibernate' && !stays && !isSpent) this.paused.delete(source?.podUid ?? '');
  }

  async #save(key: string, body: SaveBody): Promise<Answer> {
    if (this.refusal !== undefined) return refuse(this.refusal);
    if (this.isOld && body.files !== undefined) return UNKNOWN_FIELD;
    const stored = this.stored.get(key);
    if (stored !== undefined) return { status: 200, body: stored };
    const joined = this.#saving.get(key);
    if (joined !== undefined) return joined.promise;
    if ((body.mostBytes ?? BYTES) < BYTES) return TOO_MUCH;
    this.begun.push(body);
    if (!this.holdsSaves) return this.#endSave(key, body);
    const saving = { ...Promise.withResolvers<Answer>(), body };
    this.#saving.set(key, saving);
    return saving.promise;
  }

  #endSave(key: string, body: SaveBody): Answer {
    const [namespace = '', snapshotUid = ''] = key.split('/');
    const machine = { ...MACHINE, hash: HASH };
    const hasFiles = body.files === true || body.contents === 'Files';
    const saved = { version: 1, namespace, snapshotUid, ...body, machine, files: [], hasFiles, bytes: BYTES };
    const manifest = { ...saved, containers: ['main'], savedAt: this.savedAt };
    this.stored.set(key, manifest);
    if (body.mode === 'Hibernate') this.paused.add(body.source.podUid);
    if (body.holdSeconds !== undefined) this.holds.set(key, 'held');
    return { status: 200, body: manifest };
  }

  /** The manifest keeps the source; the UID is that of the copy. */
  #copy(namespace: string, snapshotUid: string, { from }: z.output<typeof copyBody>): Answer {
    if (this.refusal !== undefined) return refuse(this.refusal);
    const key = `${namespace}/${snapshotUid}`;
    const stored = this.stored.get(key);
    if (stored !== undefined) return stored.copyOf === from ? { status: 200, body: stored } : TAKEN;
    const original = this.stored.get(`${namespace}/${from}`);
    if (original === undefined) return ABSENT;
    if (original.mode !== 'Snapshot' || original.copyOf !== undefined) return NOT_SHARED;
    this.copies.push({ from, to: snapshotUid });
    const copy = { ...original, snapshotUid, copyOf: from };
    this.stored.set(key, copy);
    return { status: 200, body: copy };
  }

  async #answerRestore(request: IncomingMessage, podUID: string): Promise<Answer> {
    if (this.restoreRefusal !== undefined) return refuse(this.restoreRefusal);
    if (request.method === 'PUT') return this.#announce(podUID, restoreBody.parse(await json(request)));
    const grant = this.grants.get(podUID);
    if (request.method === 'DELETE') {
      if (grant !== undefined && grant.state !== 'Announced') return BEGUN;
      this.grants.delete(podUID);
      return { status: 204 };
    }
    if (grant === undefined) return ABSENT;
    if (grant.state === 'Announced' || grant.state === 'Begun') await this.#changed.promise;
    const after = this.grants.get(podUID);
    return after === undefined ? ABSENT : { status: 200, body: { state: after.state, message: after.message } };
  }

  /** After memory that failed in one Pod, another one may have the files. */
  #announce(podUID: string, { namespace, snapshotUid, only, spare }: z.output<typeof restoreBody>): Answer {
    if (this.isOld && spare !== undefined) return UNKNOWN_FIELD;
    if (!this.stored.has(`${namespace}/${snapshotUid}`)) return ABSENT;
    const isRival = ([uid, grant]: [string, Grant]): boolean => {
      const leaves = grant.state === 'Failed' && grant.only === undefined && only !== undefined;
      return uid !== podUID && grant.snapshotUid === snapshotUid && !leaves;
    };
    const rival = [...this.grants].find(isRival);
    if (rival !== undefined) return refuse({ status: 409, code: 'Conflict', message: `Pod ${rival[0]} has it` });
    const grant = this.grants.get(podUID) ?? { snapshotUid, only, spare, state: 'Announced' as const, message: '' };
    this.grants.set(podUID, grant);
    return { status: 200, body: { state: grant.state, message: grant.message } };
  }
}

function isController({ socket }: IncomingMessage): boolean {
  if (!(socket instanceof TLSSocket)) return false;
  return socket.getPeerX509Certificate()?.checkHost('snapshot-controller') !== undefined;
}

function refuse({ status, code, message }: Refusal): Answer {
  return { status, body: { code, message } };
}

const TRANSFERS: ReadonlySet<string> = new Set(['uploads', 'downloads', 'remote']);
const NOT_FOUND = refuse({ status: 404, code: 'NotFound', message: 'the agent has no such route' });
const REMOTE_REFUSED = refuse({ status: 422, code: 'RemoteRefused', message: 'its manifest has another digest' });
const FORBIDDEN = refuse({ status: 403, code: 'Forbidden', message: 'not the controller' });
const ABSENT = refuse({ status: 404, code: 'Absent', message: 'it is not here' });
const TOO_MUCH = refuse({ status: 422, code: 'QuotaExceeded', message: 'the Pod takes more than the quota has left' });
const UNKNOWN_FIELD = refuse({ status: 400, code: 'Invalid', message: 'json: unknown field' });
const TAKEN = refuse({ status: 409, code: 'Conflict', message: 'it is no copy of that snapshot' });
const NOT_SHARED = refuse({ status: 422, code: 'NotShared', message: 'it belongs to its Sandbox alone' });
const HOLD_ENDED = refuse({ status: 409, code: 'HoldEnded', message: 'the Pod went on since it was saved' });
const BEGUN = refuse({ status: 409, code: 'Begun', message: 'the Pod has begun' });

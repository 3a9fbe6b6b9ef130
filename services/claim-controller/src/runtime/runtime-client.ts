import { createHash, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { findPinnedKey } from '@sandlot/api-types';
import type { RuntimeIdentity } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import { connectPinned } from '@sandlot/std/pinned-tls';

/** The port of the in-sandbox daemon. */
const ENVD_PORT = 49_983;
/** For the whole call. A daemon answers within a millisecond, on a busy node later. A call that takes longer is retried. */
const DEADLINE_MS = 5_000;
/** An answer of a daemon has a few hundred bytes before its body. */
const MAX_HEAD_BYTES = 8_192;

/** The daemon did not accept the initialisation. The message is for the owner of the claim, and contains no value. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
}

/**
 * The daemon trusts another key, such as that of an earlier installation: no further try helps. A tenant's program may
 * answer the same.
 */
export class UnknownKeyError extends RuntimeError {
  constructor() {
    super('its runtime trusts another key than that of this installation');
  }
}

export interface InitCall {
  readonly address: string;
  /** By what the daemon is recognised; undefined: it speaks plainly. */
  readonly identity: RuntimeIdentity | undefined;
  readonly sandboxUid: string;
  readonly claimUid: string;
  readonly accessToken: string;
  readonly envVars: Readonly<Record<string, string>>;
  /** The ids by which clients of the API know the sandbox; undefined: they do not know it. */
  readonly names?: { readonly id: string; readonly template: string } | undefined;
  /** Whether the daemon serves its agent-sandbox API, which has no authentication. */
  readonly exec: boolean;
  /** In base64, by what the sandbox proves to the egress proxy who it is; undefined: it does not use the proxy. */
  readonly egressProof?: string | undefined;
  readonly signal: AbortSignal;
}

export interface RuntimeClientOptions {
  /** Private Ed25519 key of the installation. */
  readonly signingKey: KeyObject;
  readonly clock: Clock;
  /** Port of the daemon, for tests. */
  readonly port?: number | undefined;
}

type Headers = Readonly<Record<string, string | number>>;

/**
 * Initialises daemons in sandboxes (docs/reference/runtime.md#init). A daemon accepts only calls signed with the
 * installation's key. The signature covers one Sandbox and one moment, so that neither another pod nor a replay can use it.
 */
export class RuntimeClient {
  readonly #options: RuntimeClientOptions;
  #lastMs = 0;

  constructor(options: RuntimeClientOptions) {
    this.#options = options;
  }

  /** Resolves with the daemon's version when it has accepted everything. Throws {@link RuntimeError}. */
  init(call: InitCall): Promise<string | undefined> {
    const { accessToken, envVars, claimUid, exec, names: sandbox, egressProof: proof } = call;
    const egress = proof === undefined ? {} : { egress: { proof } };
    const body = JSON.stringify({ accessToken, envVars, sandlot: { claim: claimUid, exec, sandbox, ...egress } });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-access-token': accessToken,
      // Our daemon in a pod that has taken over the address says so, instead of judging the key.
      'x-sandlot-sandbox': call.sandboxUid,
      ...this.#signature(call.sandboxUid, body),
    };
    return this.#post(call, headers, body);
  }

  /** Every timestamp is later than the one before: the daemon rejects calls older than its last one. */
  #signature(sandboxUid: string, body: string): Record<string, string> {
    this.#lastMs = Math.max(this.#options.clock.now(), this.#lastMs + 1);
    const timestamp = String(Math.round(this.#lastMs));
    const digest = createHash('sha256').update(body).digest('hex');
    const text = `sandlot-init-v1\n${sandboxUid}\n${timestamp}\n${digest}`;
    const signature = sign(null, Buffer.from(text), this.#options.signingKey).toString('base64');
    return { 'x-sandlot-signature': signature, 'x-sandlot-timestamp': timestamp };
  }

  /** Opens a connection per call: pods reuse addresses, and a kept connection could reach another sandbox. */
  async #post(call: InitCall, headers: Headers, body: string): Promise<string | undefined> {
    const { port = ENVD_PORT, clock } = this.#options;
    const late = new AbortController();
    // A limit of the socket's silence would not do: a hostile daemon sends a byte now and then.
    const deadline = clock.setTimeout(
      () => late.abort(new Error(`no answer within ${DEADLINE_MS / 1_000} s`)),
      DEADLINE_MS,
    );
    const signal = AbortSignal.any([call.signal, late.signal]);
    try {
      const socket = await this.#connect(call, signal);
      return await exchange({ host: call.address, port, headers, body, socket, signal });
    } catch (error) {
      if (error instanceof RuntimeError) throw error;
      const reason = late.signal.aborted ? (late.signal.reason as Error).message : getReason(error as Error);
      throw new RuntimeError(`its runtime does not answer on port ${port}: ${reason}`, { cause: error });
    } finally {
      deadline.cancel();
    }
  }

  /** Connects to the daemon with this identity and to no other server; undefined: the daemon has none. */
  async #connect({ address, identity }: InitCall, signal: AbortSignal): Promise<Socket | undefined> {
    const publicKeyHash = findPinnedKey(identity, ENVD_PORT);
    if (publicKeyHash === undefined) return undefined;
    return connectPinned({ host: address, port: this.#options.port ?? ENVD_PORT, publicKeyHash }, signal);
  }
}

interface InitRequest {
  readonly host: string;
  readonly port: number;
  readonly headers: Headers;
  readonly body: string;
  /** Undefined: the request opens a plain connection. */
  readonly socket: Socket | undefined;
  readonly signal: AbortSignal;
}

/** Sends the request and looks at the head of the answer. */
function exchange({ host, port, headers, body, socket, signal }: InitRequest): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const target = { host, port, path: '/init', method: 'POST', headers, maxHeaderSize: MAX_HEAD_BYTES, signal };
  const connection = socket === undefined ? { agent: false } : { createConnection: () => socket };
  const outgoing = request({ ...target, ...connection }, (response) => {
    const { statusCode = 0, headers: given } = response;
    // The tenant controls the sandbox's response body: do not read it.
    response.on('error', () => undefined);
    response.destroy();
    const version = given['x-envd-version'];
    if (statusCode === 204 || statusCode === 200) resolve(typeof version === 'string' ? version : undefined);
    else if (statusCode === 401 && given['x-sandlot-refusal'] === 'unknown-key') reject(new UnknownKeyError());
    else reject(new RuntimeError(`its runtime refused the initialisation with status ${statusCode}`));
  });
  refuseInterimAnswers(outgoing);
  outgoing.on('error', reject);
  // After an upgrade that was not asked for there is neither a response nor an error.
  outgoing.on('close', () => reject(new Error('it closed the connection')));
  outgoing.end(body);
  return promise;
}

/** A hostile daemon may send them without end, and each would be parsed. Our daemon sends none. */
function refuseInterimAnswers(outgoing: ClientRequest): void {
  outgoing.on('information', () => outgoing.destroy(new Error('it sent an interim answer')));
}

/** The error without the address: otherwise every new pod would change the claim's status. */
function getReason(error: Error & { readonly code?: string }): string {
  return error.code ?? error.message;
}

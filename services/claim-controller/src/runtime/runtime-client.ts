import { createHash, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import type { Clock } from '@sandlot/std';

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
  readonly sandboxUid: string;
  readonly claimUid: string;
  readonly accessToken: string;
  readonly envVars: Readonly<Record<string, string>>;
  /** Whether the daemon serves its agent-sandbox API, which has no authentication. */
  readonly exec: boolean;
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
    const { accessToken, envVars, claimUid, exec } = call;
    const body = JSON.stringify({ accessToken, envVars, sandlot: { claim: claimUid, exec } });
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
  #post({ address, signal }: InitCall, headers: Headers, body: string): Promise<string | undefined> {
    const { port = ENVD_PORT, clock } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    const target = { host: address, port, path: '/init', method: 'POST', headers, agent: false, signal };
    const outgoing = request({ ...target, maxHeaderSize: MAX_HEAD_BYTES }, (response) => {
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
    // A limit of the socket's silence would not do: a hostile daemon sends a byte now and then.
    const deadline = clock.setTimeout(
      () => outgoing.destroy(new Error(`no answer within ${DEADLINE_MS / 1_000} s`)),
      DEADLINE_MS,
    );
    const fail = (error: Error): void =>
      reject(new RuntimeError(`its runtime does not answer on port ${port}: ${getReason(error)}`, { cause: error }));
    outgoing.on('error', fail);
    outgoing.on('close', () => {
      deadline.cancel();
      // After an upgrade that was not asked for there is neither a response nor an error.
      fail(new Error('it closed the connection'));
    });
    outgoing.end(body);
    return promise;
  }
}

/** A hostile daemon may send them without end, and each would be parsed. Our daemon sends none. */
function refuseInterimAnswers(outgoing: ClientRequest): void {
  outgoing.on('information', () => outgoing.destroy(new Error('it sent an interim answer')));
}

/** The error without the address: otherwise every new pod would change the claim's status. */
function getReason(error: Error & { readonly code?: string }): string {
  return error.code ?? error.message;
}

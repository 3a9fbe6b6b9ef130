import { createHash, generateKeyPairSync, randomBytes, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { EgressProofs, TokenKeys } from '@sandlot/tenancy';
import { RuntimeClient } from '../src/runtime/runtime-client.ts';
import type { RuntimeAccess } from '../src/runtime/runtime-inits.ts';

/** An initialisation that a daemon accepted, and its address. */
export interface Initialisation {
  readonly address: string;
  readonly sandboxUid: string;
  readonly accessToken: string;
  readonly envVars: Readonly<Record<string, string>>;
  readonly claim: string;
  /** Whether the agent-sandbox API is open. */
  readonly exec: boolean;
  /** What clients of the API call the sandbox. */
  readonly sandbox?: { readonly id: string; readonly template: string } | undefined;
  /** What it proves itself by to the egress proxy, in base64. */
  readonly proof?: string | undefined;
}

type Body = Pick<Initialisation, 'accessToken' | 'envVars'> & {
  readonly sandlot: Pick<Initialisation, 'claim' | 'exec' | 'sandbox'> & {
    readonly egress?: { readonly proof: string };
  };
};

type Answer = (accepted: Initialisation) => number;

/**
 * Fake daemons on loopback addresses, all on one port. They check `/init` like the real daemon: the signature over Sandbox,
 * time and body, and that time moves forward (docs/reference/runtime.md#init).
 */
export class Daemons {
  readonly accepted: Initialisation[] = [];
  /** The Sandbox UID of each daemon, by address. A daemon refuses calls for another Sandbox. */
  readonly owners = new Map<string, string>();
  /** Sandbox UIDs served at every address without an owner: each call reaches the Sandbox it is signed for. */
  crowd: () => readonly string[] = () => [];
  /** Status of the answer to a valid call. */
  answer: Answer = () => 204;
  /** Addresses whose daemons trust the key of another installation, or say so. */
  readonly strangers = new Set<string>();
  /** Daemons answer when it has resolved. */
  held: Promise<void> = Promise.resolve();
  /** Addresses whose daemons begin an answer and send one byte of it after the other, without end. */
  readonly dripping = new Set<string>();
  /** Calls of dripping daemons: those that are open, the most that were open at once, and those that the caller has closed. */
  readonly drips = { open: 0, most: 0, closed: 0 };
  readonly #servers: Server[] = [];
  readonly #keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly #newestMs = new Map<string, number>();
  readonly tokenKey = randomBytes(32);
  readonly egressProofs = new EgressProofs(randomBytes(32).toString('base64'));
  #port = 0;

  private constructor() {
    this.#keys = generateKeyPairSync('ed25519');
  }

  /** Starts one daemon per address, such as 127.0.1.1. */
  static async start(addresses: readonly string[]): Promise<Daemons> {
    const daemons = new Daemons();
    for (const address of addresses) await daemons.#listen(address);
    return daemons;
  }

  access(clock: Clock): RuntimeAccess {
    const client = new RuntimeClient({ signingKey: this.#keys.privateKey, clock, port: this.#port });
    const key = this.tokenKey.toString('base64');
    return { client, tokenKeys: new TokenKeys({ key, number: 1 }), egressProofs: this.egressProofs };
  }

  async #listen(address: string): Promise<void> {
    const server = createServer((request, response) => void this.#handle(address, request, response));
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(this.#port, address, resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  async #handle(address: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.dripping.has(address)) {
      this.#drip(request.socket);
      return;
    }
    if (this.strangers.has(address)) {
      response.writeHead(401, { 'x-sandlot-refusal': 'unknown-key' }).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { accessToken, envVars, sandlot } = JSON.parse(body) as Body;
    const owner = this.owners.get(address);
    const candidates = owner === undefined ? this.crowd() : [owner];
    const sandboxUid = candidates.find((uid) => this.#isSigned(request, body, uid)) ?? '';
    const { claim, exec, sandbox, egress } = sandlot;
    const accepted = { address, sandboxUid, accessToken, envVars, claim, exec, sandbox, proof: egress?.proof };
    const status = sandboxUid !== '' && this.#isNewer(request, accepted) ? this.answer(accepted) : 401;
    await this.held;
    if (status === 204) this.accepted.push(accepted);
    response.writeHead(status, { 'x-envd-version': '0.6.4' }).end();
  }

  #drip(socket: Socket): void {
    this.drips.open += 1;
    this.drips.most = Math.max(this.drips.most, this.drips.open);
    const abort = new AbortController();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.drips.open -= 1;
      this.drips.closed += 1;
      abort.abort();
    });
    socket.write('HTTP/1.1 200 OK\r\nX-Drip: ');
    const send = async (): Promise<void> => {
      while (!abort.signal.aborted) {
        socket.write('x');
        await systemClock.sleep(5, abort.signal);
      }
    };
    void send();
  }

  #isSigned({ headers, method, url }: IncomingMessage, body: string, sandboxUid: string): boolean {
    const { 'x-sandlot-timestamp': timestamp = '', 'x-sandlot-signature': signature = '' } = headers;
    if (method !== 'POST' || url !== '/init') return false;
    const digest = createHash('sha256').update(body).digest('hex');
    const text = Buffer.from(`sandlot-init-v1\n${sandboxUid}\n${String(timestamp)}\n${digest}`);
    return verify(null, text, this.#keys.publicKey, Buffer.from(String(signature), 'base64'));
  }

  /** Also accepts an older call with the current token: of two leaders, one has the slower clock. */
  #isNewer({ headers }: IncomingMessage, { sandboxUid }: Initialisation): boolean {
    const timestamp = Number(headers['x-sandlot-timestamp']);
    const current = this.accepted.findLast((accepted) => accepted.sandboxUid === sandboxUid)?.accessToken;
    if (timestamp <= (this.#newestMs.get(sandboxUid) ?? 0)) return headers['x-access-token'] === current;
    this.#newestMs.set(sandboxUid, timestamp);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

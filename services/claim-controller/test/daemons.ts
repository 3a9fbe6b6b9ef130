import { createHash, generateKeyPairSync, randomBytes, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@sandlot/std';
import { RuntimeClient } from '../src/runtime/runtime-client.ts';
import type { RuntimeAccess } from '../src/runtime/runtime-inits.ts';

/** What a daemon was told, at which address. */
export interface Told {
  readonly address: string;
  readonly sandboxUid: string;
  readonly accessToken: string;
  readonly envVars: Readonly<Record<string, string>>;
  readonly claim: string;
  /** Whether the agent-sandbox API is to answer. */
  readonly exec: boolean;
}

type Body = Pick<Told, 'accessToken' | 'envVars'> & { readonly sandlot: Pick<Told, 'claim' | 'exec'> };

type Answer = (told: Told) => number;

/**
 * Daemons on addresses of the loopback network, all on one port, that check what the contract of the in-sandbox daemon says
 * of `/init`: the signature over Sandbox, time and body, and that time goes forward.
 */
export class Daemons {
  readonly told: Told[] = [];
  /** Sandbox UIDs that the daemons belong to, by address: a call for another one is refused. */
  readonly owners = new Map<string, string>();
  /** Sandbox UIDs whose daemons are all at any address without an owner: each call finds the one it is signed for. */
  crowd: () => readonly string[] = () => [];
  /** Status of the answer to a call that is in order. */
  answer: Answer = () => 204;
  readonly #servers: Server[] = [];
  readonly #keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly #newestMs = new Map<string, number>();
  readonly tokenKey = randomBytes(32);
  #port = 0;

  private constructor() {
    this.#keys = generateKeyPairSync('ed25519');
  }

  /** One daemon per address, such as 127.0.1.1. */
  static async start(addresses: readonly string[]): Promise<Daemons> {
    const daemons = new Daemons();
    for (const address of addresses) await daemons.#listen(address);
    return daemons;
  }

  access(clock: Clock): RuntimeAccess {
    const client = new RuntimeClient({ signingKey: this.#keys.privateKey, clock, port: this.#port });
    return { client, tokenKey: this.tokenKey };
  }

  async #listen(address: string): Promise<void> {
    const server = createServer((request, response) => void this.#handle(address, request, response));
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(this.#port, address, resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  async #handle(address: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { accessToken, envVars, sandlot } = JSON.parse(body) as Body;
    const owner = this.owners.get(address);
    const candidates = owner === undefined ? this.crowd() : [owner];
    const sandboxUid = candidates.find((uid) => this.#isSigned(request, body, uid)) ?? '';
    const told = { address, sandboxUid, accessToken, envVars, ...sandlot };
    const status = sandboxUid !== '' && this.#isNewer(request, told) ? this.answer(told) : 401;
    if (status === 204) this.told.push(told);
    response.writeHead(status, { 'x-envd-version': '0.6.4' }).end();
  }

  #isSigned({ headers, method, url }: IncomingMessage, body: string, sandboxUid: string): boolean {
    const { 'x-sandlot-timestamp': timestamp = '', 'x-sandlot-signature': signature = '' } = headers;
    if (method !== 'POST' || url !== '/init') return false;
    const digest = createHash('sha256').update(body).digest('hex');
    const text = Buffer.from(`sandlot-init-v1\n${sandboxUid}\n${String(timestamp)}\n${digest}`);
    return verify(null, text, this.#keys.publicKey, Buffer.from(String(signature), 'base64'));
  }

  /** Or from whoever knows the token: of two leaders one has the slower clock. */
  #isNewer({ headers }: IncomingMessage, { sandboxUid }: Told): boolean {
    const timestamp = Number(headers['x-sandlot-timestamp']);
    const current = this.told.findLast((told) => told.sandboxUid === sandboxUid)?.accessToken;
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

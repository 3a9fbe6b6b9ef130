import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Command, Exit } from './build-sandbox.ts';
import { SandboxLost } from './build-sandbox.ts';
import { encloseMessage, readEnvelopes } from './envelopes.ts';
import { Lines } from './lines.ts';

const DAEMON_PORT = '49983';

const bytes = z.string().transform((text) => Buffer.from(text, 'base64'));
/** Protobuf leaves out what is zero. */
const endEvent = z.object({
  exitCode: z.number().default(0),
  exited: z.boolean().default(false),
  status: z.string().default(''),
});
const processEvent = z.object({
  event: z.object({
    data: z.object({ stdout: bytes.optional(), stderr: bytes.optional() }).optional(),
    end: endEvent.optional(),
  }),
});
const streamEnd = z.object({ error: z.object({ code: z.string(), message: z.string().default('') }).optional() });

interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: NonNullable<RequestInit['body']>;
  readonly duplex?: 'half';
  readonly signal: AbortSignal;
}

export interface DaemonOptions {
  readonly gatewayUrl: string;
  readonly sandboxId: string;
  /** Opens the daemon of this sandbox. */
  readonly accessToken: string;
}

/** The daemon of one sandbox, through the gateway: NetworkPolicies let no other process reach it. */
export class Daemon {
  readonly #o: DaemonOptions;

  constructor(options: DaemonOptions) {
    this.#o = options;
  }

  /** Runs a command to its end. Throws a SandboxLost when the stream breaks: the command may have gone on. */
  async run({ program, args, user, workdir, env = {}, onLine }: Command, signal: AbortSignal): Promise<Exit> {
    const process = { cmd: program, args, envs: env, ...(workdir === undefined ? {} : { cwd: workdir }) };
    const response = await this.#send('/process.Process/Start', {
      method: 'POST',
      headers: {
        'content-type': 'application/connect+json',
        'connect-protocol-version': '1',
        'keepalive-ping-interval': '15',
        ...asUser(user),
      },
      body: encloseMessage({ process, stdin: false }),
      signal,
    });
    const [stdout, stderr] = (['stdout', 'stderr'] as const).map(
      (stream) => new Lines((line) => onLine?.(line, stream)),
    );
    const exit = await reportLoss(signal, () => readEvents(response, { stdout, stderr }));
    stdout?.end();
    stderr?.end();
    if (exit === undefined) throw new SandboxLost('the output of a command ended before the command');
    return exit;
  }

  async upload(path: string, content: Readable, signal: AbortSignal): Promise<void> {
    const response = await this.#send(`/files?${new URLSearchParams({ path, username: 'root' }).toString()}`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: Readable.toWeb(content) as ReadableStream,
      duplex: 'half',
      signal,
    });
    await reportLoss(signal, () => response.toArray());
  }

  async download(path: string, signal: AbortSignal): Promise<Readable> {
    return this.#send(`/files?${new URLSearchParams({ path, username: 'root' }).toString()}`, {
      method: 'GET',
      headers: {},
      signal,
    });
  }

  async #send(path: string, { headers: given, ...init }: Outgoing): Promise<Readable> {
    const { gatewayUrl, sandboxId, accessToken } = this.#o;
    const headers = {
      ...given,
      'e2b-sandbox-id': sandboxId,
      'e2b-sandbox-port': DAEMON_PORT,
      'x-access-token': accessToken,
    };
    return reportLoss(init.signal, async () => {
      const response = await fetch(new URL(path, gatewayUrl), { ...init, headers });
      if (!response.ok || response.body === null) {
        throw new Error(`the daemon answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
      }
      return Readable.fromWeb(response.body);
    });
  }
}

interface Output {
  readonly stdout: Lines | undefined;
  readonly stderr: Lines | undefined;
}

/** Reads what a command writes, up to its end. Undefined: the stream ended before. */
async function readEvents(response: Readable, { stdout, stderr }: Output): Promise<Exit | undefined> {
  let exit: Exit | undefined;
  for await (const { isEnd, message } of readEnvelopes(response)) {
    if (isEnd) refuseError(message);
    const { data } = processEvent.safeParse(message);
    if (data === undefined) continue;
    const { data: written, end } = data.event;
    stdout?.add(written?.stdout);
    stderr?.add(written?.stderr);
    exit = end === undefined ? exit : readExit(end);
  }
  return exit;
}

/** Any failure on the way is a loss, unless the caller has given up. */
async function reportLoss<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SandboxLost) throw error;
    throw new SandboxLost(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function asUser(user: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}` };
}

function refuseError(message: unknown): void {
  const { error } = streamEnd.parse(message);
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
}

function readExit({ exitCode, exited, status }: z.output<typeof endEvent>): Exit {
  return { isSuccess: exited && exitCode === 0, status: status === '' ? `exit status ${exitCode}` : status };
}

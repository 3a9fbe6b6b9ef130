// One server of the configuration: its process, the connection to it, and its next start after an end.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { ErrorCode, McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { CallToolRequest, Result, Tool } from '@modelcontextprotocol/sdk/types.js';
import { computeBackoffMs } from '@sandlot/std';
import type { Clock, Random } from '@sandlot/std';
import type { Command } from './catalogue.ts';
import { describeError, GatewayError, quote } from './errors.ts';

export interface UpstreamOptions {
  readonly name: string;
  readonly command: Command;
  readonly cwd: string;
  /** Says why a call is refused before the server sees it. */
  readonly guard?: ((given: Readonly<Record<string, unknown>>) => Promise<string | undefined>) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: (line: string) => void;
}

/** How long a server may take to start and to list its tools. */
const START_MS = 30_000;
/** How long a server may take to answer whether it is alive. */
const PING_MS = 5000;
/** How long a call may take without progress, and at most. */
const CALL = { timeout: 300_000, resetTimeoutOnProgress: true, maxTotalTimeout: 1_800_000 } as const;
/** The longest message of a server. One that sends more is ended. */
const MOST_MESSAGE_BYTES = 10 * 1024 * 1024;
const MOST_PAGES = 10;
const MOST_STDERR = 2048;
const BACKOFF = { baseMs: 500, maxMs: 30_000 } as const;
/** A server that lived this long begins a new series of failures. */
const STABLE_MS = 60_000;

const CLOSED: number = ErrorCode.ConnectionClosed;
const TIMED_OUT: number = ErrorCode.RequestTimeout;

interface Running {
  readonly client: Client;
  readonly sinceMs: number;
  /** The end of what the process printed. */
  readonly stderr: { text: string };
  /** Set once, so that a late end of an old process does not count as one of the new. */
  isEnded: boolean;
}

export class Upstream {
  readonly name: string;
  readonly #o: UpstreamOptions;
  #tools: readonly Tool[] | undefined;
  #running: Promise<Running> | undefined;
  #failures = 0;
  #notBeforeMs = 0;

  constructor(options: UpstreamOptions) {
    this.name = options.name;
    this.#o = options;
  }

  /** The tools that the server listed last. None if it never started. */
  get tools(): readonly Tool[] {
    return this.#tools ?? [];
  }

  /** Starts the server unless it runs. Throws GatewayError with what the program printed. */
  async start(): Promise<void> {
    await this.#open();
  }

  /** Starts a server that never listed its tools, unless it failed a moment ago. */
  async tryToList(): Promise<void> {
    if (this.#tools !== undefined || this.#waitMs() > 0) return;
    await this.#open().catch(() => undefined);
  }

  /**
   * Calls a tool. A server that ended starts again first, after a delay that grows with each end. Throws GatewayError if it
   * does not, or ends during the call, and McpError with the server's own refusal.
   */
  async call(params: CallToolRequest['params'], options: RequestOptions): Promise<Result> {
    const problem = await this.#o.guard?.(params.arguments ?? {});
    if (problem !== undefined) throw new GatewayError('server', `server ${quote(this.name)}: ${problem}`);
    const running = await this.#open();
    try {
      return await running.client.request({ method: 'tools/call', params }, ResultSchema, { ...CALL, ...options });
    } catch (error) {
      throw await this.#explain(error, running, params.name);
    }
  }

  async close(): Promise<void> {
    const running = await this.#running?.catch(() => undefined);
    await running?.client.close();
  }

  #waitMs(): number {
    return Math.max(0, this.#notBeforeMs - this.#o.clock.monotonic());
  }

  /** Concurrent callers share one start. */
  #open(): Promise<Running> {
    this.#running ??= this.#launch().catch((error: unknown) => {
      this.#plan();
      throw error;
    });
    return this.#running;
  }

  async #launch(): Promise<Running> {
    const waitMs = this.#waitMs();
    if (waitMs > 0) await this.#o.clock.sleep(waitMs);
    const { command, cwd, clock } = this.#o;
    const transport = new StdioClientTransport({
      ...command,
      args: [...command.args],
      env: { ...command.env },
      cwd,
      stderr: 'pipe',
      maxBufferSize: MOST_MESSAGE_BYTES,
    });
    const stderr = { text: '' };
    transport.stderr?.on('data', (chunk: Buffer) => {
      stderr.text = (stderr.text + chunk.toString()).slice(-MOST_STDERR);
    });
    const client = new Client({ name: 'mcp-gateway', version: '1' });
    try {
      await client.connect(transport, { timeout: START_MS });
      this.#tools = await listTools(client);
      const running = { client, sinceMs: clock.monotonic(), stderr, isEnded: false };
      client.onclose = () => this.#noteEnd(running);
      return running;
    } catch (error) {
      await client.close();
      throw new GatewayError('server', `server ${quote(this.name)} did not start: ${describeEnd(error, stderr.text)}`);
    }
  }

  #noteEnd(running: Running): void {
    if (running.isEnded) return;
    running.isEnded = true;
    if (this.#o.clock.monotonic() - running.sinceMs >= STABLE_MS) this.#failures = 0;
    this.#plan();
  }

  /** Has the next call start the server again, after a while. */
  #plan(): void {
    const delayMs = computeBackoffMs({ ...BACKOFF, attempt: this.#failures, random: this.#o.random });
    this.#notBeforeMs = this.#o.clock.monotonic() + delayMs;
    this.#failures += 1;
    this.#running = undefined;
    this.#o.log(`server ${quote(this.name)} ended; the next call starts it again`);
  }

  async #explain(error: unknown, running: Running, tool: string): Promise<unknown> {
    if (error instanceof McpError && error.code !== CLOSED) {
      if (error.code === TIMED_OUT) await this.#endIfSilent(running);
      return error;
    }
    const end = describeEnd(error, running.stderr.text);
    const text = `server ${quote(this.name)} ended during ${quote(tool)}, and the next call starts it again: ${end}`;
    return new GatewayError('server', text);
  }

  /** A server that answers nothing at all would let every later call wait as long. */
  async #endIfSilent(running: Running): Promise<void> {
    try {
      await running.client.ping({ timeout: PING_MS });
    } catch {
      this.#noteEnd(running);
      await running.client.close();
    }
  }
}

/** Why it ended: what the program printed, or else the error of the connection. */
function describeEnd(error: unknown, stderr: string): string {
  const printed = stderr.trim();
  return printed === '' ? describeError(error) : printed;
}

async function listTools(client: Client): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: START_MS });
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new GatewayError('server', `more than ${MOST_PAGES} pages of tools`);
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { ask } from './client.ts';

/** How an attacker behaves: it sends requests, leaves requests waiting, or drips heads. */
export interface Attack {
  readonly kind: 'send' | 'wait' | 'drip';
  /** Headers of its requests; `#` is another number each time. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Doors {
  readonly port: number;
  readonly attack: Attack;
  /** Headers of the well-behaved client. */
  readonly honest: Readonly<Record<string, string>>;
}

/** What a well-behaved client saw: milliseconds are the best of the rounds, since other work on the machine spoils some rounds. */
export interface Comparison {
  readonly aloneP99: number;
  readonly attackedP99: number;
  /** At a bare server that the same attacker attacks: what the attacker costs by keeping the machine busy. */
  readonly floorP99: number;
  /** By how much the attacker slows the client down. Both compete with it for the processor, which is no fault of the gateway. */
  readonly slowdown: number;
  /** Statuses of all its answers. */
  readonly statuses: ReadonlySet<number>;
}

const ROUNDS = 3;
/** Other work on the machine may spoil three rounds in a row; a gateway that lets attackers through spoils all of these. */
const MAX_ROUNDS = 10;
/** In one round. With fewer than a few hundred the p99 would be the slowest request of all. */
const REQUESTS = 200;
const AT_A_TIME = 10;
/** Marks the client's requests for the bare server. */
const HONEST = 'X-Honest';

/**
 * Measures a well-behaved client without and with an attacker, in turn, so that the load of the machine affects both. It adds
 * rounds while the client is slowed down `limit` times or more.
 */
export async function compareUnderAttack(doors: Doors, work: RequestListener, limit = Infinity): Promise<Comparison> {
  using _ = takePrecedence();
  const statuses = new Set<number>();
  await using bare = await startBareServer(work);
  await measureP99(doors, statuses);
  let [aloneP99, attackedP99, floorP99] = [Infinity, Infinity, Infinity];
  const getSlowdown = (): number => attackedP99 / Math.max(aloneP99, floorP99);
  for (let round = 0; round < ROUNDS || (round < MAX_ROUNDS && getSlowdown() >= limit); round += 1) {
    aloneP99 = Math.min(aloneP99, await measureP99(doors, statuses));
    attackedP99 = Math.min(attackedP99, await measureAttacked(doors, statuses));
    floorP99 = Math.min(floorP99, await measureAttacked({ ...doors, port: bare.port }, statuses));
  }
  return { aloneP99, attackedP99, floorP99, slowdown: getSlowdown(), statuses };
}

/**
 * Lets the gateway and its client run before the attacker and other work on this machine: an attacker of a real gateway has
 * processors of its own. Without the right to do so, the comparison is only less steady.
 */
function takePrecedence(): Disposable {
  const before = getPriority();
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not root.
  }
  return { [Symbol.dispose]: () => setPriority(before) };
}

/** Does the work for the client, and refuses everything else at once. */
async function startBareServer(work: RequestListener): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((request, response) => {
    if (request.headers[HONEST.toLowerCase()] !== undefined) work(request, response);
    else response.writeHead(429, { Connection: 'close' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function measureAttacked(doors: Doors, statuses: Set<number>): Promise<number> {
  const { kind, headers } = doors.attack;
  const program = join(import.meta.dirname, 'attacker.ts');
  const attacker = spawn(process.execPath, [program, kind, String(doors.port), JSON.stringify(headers)]);
  setPriority(attacker.pid ?? 0, 0);
  await once(attacker.stdout, 'data');
  const p99 = await measureP99(doors, statuses);
  attacker.kill('SIGKILL');
  await once(attacker, 'exit');
  return p99;
}

async function measureP99({ port, honest }: Doors, statuses: Set<number>): Promise<number> {
  const latencies: number[] = [];
  const client = async (): Promise<void> => {
    while (latencies.length < REQUESTS) {
      const startedMs = performance.now();
      const { status } = await ask(port, { headers: { ...honest, [HONEST]: '1' } });
      latencies.push(performance.now() - startedMs);
      statuses.add(status);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, client));
  latencies.sort((a, b) => a - b);
  return latencies[Math.ceil(latencies.length * 0.99) - 1] ?? Number.NaN;
}

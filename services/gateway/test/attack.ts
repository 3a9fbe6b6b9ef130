import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

/** What a well-behaved client saw. */
export interface Comparison {
  /** Milliseconds: the best of the rounds. Other work on the machine spoils some rounds, an attack that succeeds spoils all. */
  readonly aloneP99: number;
  readonly attackedP99: number;
  /** Statuses of all its answers. */
  readonly statuses: ReadonlySet<number>;
}

const ROUNDS = 4;
/** In one round. With fewer than a few hundred the p99 would be the slowest request of all. */
const REQUESTS = 200;
const AT_A_TIME = 10;

/** Measures a well-behaved client without and with an attacker, in turn, so that the load of the machine affects both. */
export async function compareUnderAttack(doors: Doors): Promise<Comparison> {
  const statuses = new Set<number>();
  const [alone, attacked]: [number[], number[]] = [[], []];
  await measureP99(doors, statuses);
  for (let round = 0; round < ROUNDS; round += 1) {
    alone.push(await measureP99(doors, statuses));
    const attacker = spawn(process.execPath, [
      join(import.meta.dirname, 'attacker.ts'),
      ...[doors.attack.kind, String(doors.port), JSON.stringify(doors.attack.headers)],
    ]);
    await once(attacker.stdout, 'data');
    attacked.push(await measureP99(doors, statuses));
    attacker.kill('SIGKILL');
    await once(attacker, 'exit');
  }
  return { aloneP99: Math.min(...alone), attackedP99: Math.min(...attacked), statuses };
}

async function measureP99({ port, honest }: Doors, statuses: Set<number>): Promise<number> {
  const latencies: number[] = [];
  const client = async (): Promise<void> => {
    while (latencies.length < REQUESTS) {
      const startedMs = performance.now();
      const { status } = await ask(port, { headers: honest });
      latencies.push(performance.now() - startedMs);
      statuses.add(status);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, client));
  latencies.sort((a, b) => a - b);
  return latencies[Math.ceil(latencies.length * 0.99) - 1] ?? Number.NaN;
}

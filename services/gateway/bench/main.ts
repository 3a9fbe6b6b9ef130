/**
 * `npm run bench:gateway`: the latency the gateway adds, the requests per second on one core, the memory of WebSockets
 * and silent connections, and what attackers do to others.
 * Direct requests and requests through the gateway take turns, so that the load of the machine affects both. It prints numbers
 * and asserts nothing. The gateway runs as in its image, with the flags of its Deployment and the token of a pod.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareUnderAttack } from '../test/attack.ts';
import { GatewayHarness, nextAddress } from '../test/harness.ts';
import { runInPod } from './pod.ts';
import { load, openSilent, openWebSockets } from './load.ts';
import type { Aim } from './load.ts';

const PORT = 8080;
const TICKS_PER_SECOND = 100;
const ROUNDS = 5;
const WEB_SOCKETS = 1_000;
const SILENT = 1_000;
const ATTACKERS = { send: 'makes up ids', drip: 'drips heads' };

async function startUpstream(address: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'upstream.ts'), address, String(PORT)]);
  await once(child.stdout, 'data');
  return child;
}

/** CPU seconds the process has used. */
async function readCpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function readResidentMiB(pid: number): Promise<number> {
  return Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
const median = (all: readonly number[]): number =>
  at(
    [...all].sort((a, b) => a - b),
    0.5,
  );
const say = (text: string): boolean => process.stdout.write(`${text}\n`);

await using harness = await GatewayHarness.start(
  { MAX_CONNECTIONS_PER_SANDBOX: '5000', MAX_UNFINISHED_HEADS_PER_SOURCE: '1000' },
  runInPod,
);
const address = nextAddress();
const sandbox = await harness.createSandbox({ address });
const upstream = await startUpstream(address);
const { pid } = harness.process;
const name = harness.buildHost(sandbox, PORT);
const direct: Aim = { host: address, port: PORT, name };
const through: Aim = { host: '127.0.0.1', port: harness.port, name };
try {
  const idleMiB = await readResidentMiB(pid);
  await load(through, { connections: 8, ms: 200 });
  const beforeMiB = await readResidentMiB(pid);
  const sockets = await openWebSockets(through, WEB_SOCKETS);
  const openMiB = await readResidentMiB(pid);
  say(
    `resident: ${idleMiB.toFixed(0)} MiB at first, ${beforeMiB.toFixed(0)} MiB after some requests, ${openMiB.toFixed(0)} MiB with ${WEB_SOCKETS} WebSockets (goal: within 100 MiB)`,
  );
  for (const socket of sockets) socket.destroy();
  for (const [what, text] of [
    ['idle connections', `GET / HTTP/1.1\r\nHost: ${name}\r\n\r\n`],
    ['unfinished heads of 30 kB', `GET / HTTP/1.1\r\nHost: ${name}\r\n${`X: ${'x'.repeat(95)}\r\n`.repeat(300)}`],
  ] as const) {
    const [before, silent] = [await readResidentMiB(pid), await openSilent(through, { count: SILENT, text })];
    const each = (((await readResidentMiB(pid)) - before) * 1_024) / SILENT;
    say(`${what}: ${each.toFixed(0)} KiB each (the limits of the chart allow 18, and 70 more for a head)`);
    for (const socket of silent) socket.destroy();
  }
  const honest = { Host: name };
  for (const attack of [
    { kind: 'send', headers: { 'E2b-Sandbox-Id': 'madeup#', 'E2b-Sandbox-Port': '8080' } },
    { kind: 'drip', headers: {} },
  ] as const) {
    const { aloneP99, attackedP99 } = await compareUnderAttack({ port: harness.port, attack, honest }, (_, response) =>
      response.end(),
    );
    const times = (attackedP99 / aloneP99).toFixed(1);
    say(`a client beside an attacker that ${ATTACKERS[attack.kind]}: ${times} times its p99 (a request of under 1 ms)`);
  }
  await load(through, { connections: 8, ms: 4_000 });
  const added: number[] = [];
  const tails: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [alone, passed] = [
      await load(direct, { connections: 1, ms: 1_000 }),
      await load(through, { connections: 1, ms: 1_000 }),
    ];
    added.push(at(passed.latencies, 0.5) - at(alone.latencies, 0.5));
    tails.push(at(passed.latencies, 0.99) - at(alone.latencies, 0.99));
    say(`direct p50 ${at(alone.latencies, 0.5).toFixed(3)} ms, through p50 ${at(passed.latencies, 0.5).toFixed(3)} ms`);
  }
  say(`added latency: p50 ${median(added).toFixed(3)} ms, p99 ${median(tails).toFixed(3)} ms (goal: p50 at most 1 ms)`);
  for (const connections of [16, 64]) {
    const before = await readCpuSeconds(pid);
    const ms = 5_000;
    const { perSecond, latencies } = await load(through, { connections, ms });
    const perCore = latencies.length / ((await readCpuSeconds(pid)) - before);
    say(
      `${connections} connections: ${perSecond.toFixed(0)} requests/s, ${perCore.toFixed(0)} per second of gateway CPU, p99 ${at(latencies, 0.99).toFixed(1)} ms (goal: 5,000 per core)`,
    );
  }
} finally {
  upstream.kill();
}

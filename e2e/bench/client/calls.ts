import { Agent, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Sandbox } from 'e2b';

/** One way to run a command. The call resolves when the command has ended. */
export interface Way {
  readonly name: string;
  readonly call: () => Promise<unknown>;
}

const DAEMON_PORT = 49_983;
const BASH = { cmd: '/bin/bash', args: ['-l', '-c', 'true'] } as const;
const BARE = { cmd: '/bin/true', args: [] } as const;

export interface Ways {
  readonly sandbox: Sandbox;
  /** The stock client with the pod's address, past the gateway. */
  readonly direct: Sandbox;
  readonly token: string;
  readonly gateway: URL;
  readonly podIP: string;
}

/** `commands.run("true")` by the stock client and by a bare client, through the gateway and directly to the pod. */
export function listWays({ sandbox, direct, token, gateway, podIP }: Ways): Way[] {
  const routing = { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': String(DAEMON_PORT) };
  const through = createRunner(
    { hostname: gateway.hostname, port: gateway.port },
    { ...routing, 'X-Access-Token': token },
  );
  const past = createRunner({ hostname: podIP, port: DAEMON_PORT }, { 'X-Access-Token': token });
  return [
    { name: 'stock client, through the gateway', call: () => sandbox.commands.run('true') },
    { name: 'stock client, directly', call: () => direct.commands.run('true') },
    { name: 'bare client, through the gateway', call: () => through(BASH) },
    { name: 'bare client, directly', call: () => past(BASH) },
    { name: 'bare client, directly, /bin/true without a shell', call: () => past(BARE) },
  ];
}

interface Address {
  readonly hostname: string;
  readonly port: string | number;
}

type Program = typeof BASH | typeof BARE;

/** Returns a function that runs a program over one kept-alive connection. It rejects unless the program succeeds. */
function createRunner(to: Address, headers: Readonly<Record<string, string>>): (program: Program) => Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return async (program) => {
    const body = toEnvelope({ process: program, stdin: false });
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const sent = request(
      {
        ...to,
        agent,
        method: 'POST',
        path: '/process.Process/Start',
        headers: {
          ...headers,
          'Content-Type': 'application/connect+json',
          'Connect-Protocol-Version': '1',
          'Content-Length': body.length,
        },
      },
      (answer) => {
        buffer(answer).then(resolve, reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
    const answer = (await promise).toString('latin1');
    if (!answer.includes('"exit status 0"')) throw new Error(`a command did not end well: ${answer}`);
  };
}

/** A message of a Connect stream: a flag, four bytes of length, JSON. */
function toEnvelope(message: object): Buffer {
  const json = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(json.length, 1);
  return Buffer.concat([head, json]);
}

/** Times the calls, in milliseconds by name. The ways take turns, so that the load of the machine affects all of them. */
export async function timeInTurn(ways: readonly Way[], rounds: number): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(ways.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, call } of ways) {
      const startedMs = performance.now();
      await call();
      times.get(name)?.push(performance.now() - startedMs);
    }
  }
  return times;
}

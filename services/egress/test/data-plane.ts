import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Resolver } from 'node:dns/promises';
import { mkdtempDisposable, rename } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries, issueCertificates } from '@sandlot/local-cluster';

const BIND = '127.0.51.1';

/** The real data plane, on loopback. */
export interface DataPlane extends AsyncDisposable {
  readonly socket: string;
  isReady(): Promise<boolean>;
  fetchMetrics(): Promise<string>;
  /** What the resolver answers a sandbox at this address: an address, or the code of an error. */
  ask(source: string, name: string): Promise<string>;
  /** Kills the process, if it runs. */
  kill(): Promise<void>;
  /** Kills the process, if it runs, and starts it anew. */
  restart(): Promise<void>;
}

/** A port that nothing listens on. */
export async function findPort(): Promise<number> {
  const server = createServer().listen(0, BIND);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts the data plane. Disposing kills it. */
export async function startDataPlane(): Promise<DataPlane> {
  const bin = await ensureBinaries(['pki', 'sandlot-egress']);
  const folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-egress-'));
  await issueCertificates(bin('pki'), { dir: folder.path, certificates: [] });
  for (const end of ['crt', 'key']) await rename(join(folder.path, `ca.${end}`), join(folder.path, `tls.${end}`));
  const [dns, tls, http, proxy, admin] = await Promise.all(Array.from({ length: 5 }, findPort));
  const socket = join(folder.path, 'rules.sock');
  const env = {
    SANDLOT_EGRESS_BIND: BIND,
    SANDLOT_EGRESS_SOCKET: socket,
    SANDLOT_EGRESS_CA: folder.path,
    // Nothing listens there: a question that is forwarded fails.
    SANDLOT_EGRESS_SERVERS: '127.0.51.3:1',
    SANDLOT_EGRESS_DNS_PORT: String(dns),
    SANDLOT_EGRESS_TLS_PORTS: String(tls),
    SANDLOT_EGRESS_HTTP_PORTS: String(http),
    SANDLOT_EGRESS_PROXY_PORT: String(proxy),
    SANDLOT_EGRESS_ADMIN_PORT: String(admin),
  };
  const start = () => spawn(bin('sandlot-egress'), [], { env, stdio: 'inherit' });
  let child = start();
  const kill = async (): Promise<void> => {
    if (child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    socket,
    isReady: async () => (await fetch(`http://${BIND}:${admin}/readyz`).catch(() => undefined))?.ok === true,
    fetchMetrics: async () => (await fetch(`http://${BIND}:${admin}/metrics`)).text(),
    ask: async (source, name) => {
      const resolver = new Resolver({ timeout: 3_000, tries: 2 });
      resolver.setServers([`${BIND}:${dns}`]);
      resolver.setLocalAddress(source);
      const answer = await resolver.resolve4(name).catch((error: unknown) => [(error as NodeJS.ErrnoException).code]);
      return answer.join(' ');
    },
    kill,
    restart: async () => {
      await kill();
      child = start();
    },
    [Symbol.asyncDispose]: async () => {
      await kill();
      await folder.remove();
    },
  };
}

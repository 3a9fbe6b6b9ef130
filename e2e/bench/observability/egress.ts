import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { services } from '@sandlot/kube';
import { ensureBinaries, findFreePort, issueCertificates } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import { checkoutRoot } from '@sandlot/up';
import { pause } from '../claims/shapes.ts';
import { NAMESPACE } from '../claims/stage.ts';
import type { Stage } from '../claims/stage.ts';

const BIND = '127.0.61.1';
const SERVICES = ['egress', 'egress-inspect'] as const;

export const EGRESS = ['egress', 'egress-proxy'] as const;

/** The two processes of egress beside the controllers of a stage, asked once from an address that no sandbox has. */
export class Egress implements AsyncDisposable {
  /** Where Prometheus finds the rules process and the proxy. */
  readonly addresses: Readonly<Record<(typeof EGRESS)[number], string>>;
  readonly #open: AsyncDisposableStack;

  private constructor(addresses: Egress['addresses'], open: AsyncDisposableStack) {
    this.addresses = addresses;
    this.#open = open;
  }

  static async open(stage: Stage): Promise<Egress> {
    await using open = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'sandlot-egress-'));
    open.defer(() => rm(folder, { recursive: true, force: true }));
    const spec = { ports: [{ name: 'dns', protocol: 'UDP', port: 53 }] };
    for (const name of SERVICES)
      await stage.client.create(services, { metadata: { namespace: NAMESPACE, name }, spec });
    const socket = join(folder, 'rules.sock');
    const proxy = await startProxy(folder, socket, open);
    const [passed, inspected] = SERVICES;
    const rules = await startServiceProcess(new URL(`file://${checkoutRoot}/services/egress/src/main.ts`), {
      KUBECONFIG: stage.plane.kubeconfigPath,
      POD_NAMESPACE: NAMESPACE,
      EGRESS_SOCKET: socket,
      EGRESS_SERVICE: passed,
      EGRESS_INSPECT_SERVICE: inspected,
      PORT: String(await findFreePort()),
    });
    open.use(rules);
    await waitUntilReady(proxy.admin);
    await ask(proxy);
    return new Egress({ egress: `127.0.0.1:${rules.metricsPort}`, 'egress-proxy': proxy.admin }, open.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}

interface Proxy {
  readonly admin: string;
  readonly dns: number;
  readonly tls: number;
}

async function startProxy(folder: string, socket: string, open: AsyncDisposableStack): Promise<Proxy> {
  const bin = await ensureBinaries(['pki', 'sandlot-egress']);
  await issueCertificates(bin('pki'), { dir: folder, certificates: [] });
  for (const end of ['crt', 'key']) await rename(join(folder, `ca.${end}`), join(folder, `tls.${end}`));
  const names = ['dns-port', 'tls-ports', 'http-ports', 'proxy-port', 'admin-port'] as const;
  const ports: number[] = [];
  while (ports.length < names.length) ports.push(await findFreePort());
  const [dns = 0, tls = 0, , , admin = 0] = ports;
  const listens = names.map((name, index) => `-${name}=${ports[index]}`);
  // Nothing listens at that server: a question that is forwarded fails.
  const args = [`-bind=${BIND}`, `-socket=${socket}`, `-ca=${folder}`, '-servers=127.0.61.2:1', ...listens];
  const child = spawn(bin('sandlot-egress'), args, { stdio: 'ignore' });
  open.defer(() => end(child));
  return { admin: `${BIND}:${admin}`, dns, tls };
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function waitUntilReady(admin: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://${admin}/readyz`).catch(() => undefined);
    if (answer?.ok === true) return;
    await pause(100);
  }
}

/** A question and a connection, both of which the proxy refuses. */
async function ask({ dns, tls }: Proxy): Promise<void> {
  const resolver = new Resolver({ timeout: 5_000, tries: 1 });
  resolver.setServers([`${BIND}:${dns}`]);
  await resolver.resolve4('example.com').catch(() => undefined);
  const socket = createConnection(tls, BIND).resume();
  await once(socket, 'close');
}

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries, findFreePort, issueCertificates } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { checkoutRoot } from '@sandlot/up';
import { pause } from '../claims/shapes.ts';
import { NAMESPACE } from '../claims/stage.ts';
import type { Stage } from '../claims/stage.ts';

/** The snapshot-controller and one node component as processes beside the controllers of a stage. No sandbox hibernates. */
export class Hibernation implements AsyncDisposable {
  /** Where Prometheus finds each process. */
  readonly addresses: Readonly<Record<'snapshot-controller' | 'node', string>>;
  readonly #open: AsyncDisposableStack;

  private constructor(addresses: Hibernation['addresses'], open: AsyncDisposableStack) {
    this.addresses = addresses;
    this.#open = open;
  }

  static async open(stage: Stage): Promise<Hibernation> {
    await using open = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'sandlot-hibernation-'));
    open.defer(() => rm(folder, { recursive: true, force: true }));
    const node = await startNode(folder, open);
    const controller = open.use(await startController(stage, join(folder, 'snapshot-controller')));
    const addresses = { 'snapshot-controller': `127.0.0.1:${controller.metricsPort}`, node };
    for (const address of Object.values(addresses)) await waitForPage(address);
    return new Hibernation(addresses, open.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}

/** Returns the address of its metrics. */
async function startNode(folder: string, open: AsyncDisposableStack): Promise<string> {
  const bin = await ensureBinaries(['pki', 'runsc', 'sandlot-node']);
  for (const name of ['sandlot-node', 'snapshot-controller']) {
    const dir = join(folder, name);
    await issueCertificates(bin('pki'), { dir, certificates: [{ name: 'tls', commonName: name, dnsNames: [name] }] });
  }
  const address = `127.0.0.1:${await findFreePort()}`;
  const places = ['root', 'state', 'runsc-root'].map((name) => `-${name}=${join(folder, name)}`);
  const listens = [`-socket=${join(folder, 'node.sock')}`, '-listen=127.0.0.1:0', `-metrics=${address}`];
  const args = [
    '-node=one',
    `-runsc=${bin('runsc')}`,
    `-tls-dir=${join(folder, 'sandlot-node')}`,
    ...places,
    ...listens,
  ];
  const child = spawn(bin('sandlot-node'), args, { stdio: 'ignore' });
  open.defer(() => end(child));
  return address;
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

function startController(stage: Stage, tlsDir: string): Promise<ServiceProcess> {
  const main = new URL(`file://${checkoutRoot}/services/snapshot-controller/src/main.ts`);
  const place = { KUBECONFIG: stage.plane.kubeconfigPath, NATS_URL: stage.nats.url, POD_NAMESPACE: NAMESPACE };
  return startServiceProcess(main, { ...place, ...stage.env, SNAPSHOT_AGENT_TLS_DIR: tlsDir });
}

async function waitForPage(address: string): Promise<void> {
  for (;;) {
    const page = await fetch(`http://${address}/metrics`).catch(() => undefined);
    if (page?.ok === true) return;
    await pause(100);
  }
}

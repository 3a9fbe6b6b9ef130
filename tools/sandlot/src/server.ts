import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, connect as dial } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createKubeClient, isNotFound, KubeError, loadCredentials, secrets, services } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';
import { CliError } from './errors.ts';

const NATS_PORT = 4222;
const NAMESPACE = 'sandlot-system';
const SERVICE = 'sandlot-nats';
const REACH_MS = 1_500;
const FORWARD_LIMIT_MS = 15_000;

/** How to reach a NATS server. Disposing ends the port-forward, if there is one. */
export interface ServerAccess extends AsyncDisposable {
  readonly url: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The authority of its certificate, in PEM, and the name in it. Undefined: no TLS, or an authority from a file. */
  readonly tls?: { readonly ca: string; readonly servername: string } | undefined;
}

export interface ServerQuery {
  readonly server: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The NATS user whose password the cluster's Secret holds. */
  readonly user: 'events-reader' | 'events-replayer';
}

const doNothing = (): Promise<void> => Promise.resolve();

/** Finds the NATS server: the given one, or else the Service in the cluster. Throws CliError. */
export async function findServer({ server, kubeconfig, env, user }: ServerQuery): Promise<ServerAccess> {
  const url = server ?? env['NATS_URL'];
  if (url !== undefined) {
    return { url, user: env['NATS_USER'], password: env['NATS_PASSWORD'], [Symbol.asyncDispose]: doNothing };
  }
  const file = kubeconfig ?? env['KUBECONFIG'] ?? join(import.meta.dirname, '../../../.sandlot/kubeconfig');
  if (!existsSync(file)) {
    const advice = 'Name a NATS server with --server, a cluster with --kubeconfig, or start one with: npm run up';
    throw new CliError(`there is no kubeconfig ${file}`, advice);
  }
  const { address, password, tls } = await lookUp(file, user);
  const scheme = tls === undefined ? 'nats' : 'tls';
  const access = { user, password, tls };
  if (await canConnect(address, NATS_PORT)) {
    return { ...access, url: `${scheme}://${address}:${NATS_PORT}`, [Symbol.asyncDispose]: doNothing };
  }
  const { port, child } = await forward(file);
  const end = async (): Promise<void> => void child.kill();
  return { ...access, url: `${scheme}://127.0.0.1:${port}`, [Symbol.asyncDispose]: end };
}

async function lookUp(kubeconfig: string, user: string) {
  const credentials = await loadCredentials({ kubeconfig });
  const client = createKubeClient({ credentials, userAgent: 'sandlot-cli' });
  try {
    const [service, secret, ca] = await Promise.all([
      client.get(services, { namespace: NAMESPACE, name: SERVICE }),
      client.get(secrets, { namespace: NAMESPACE, name: `${SERVICE}-auth` }),
      findAuthority(client),
    ]);
    const password = secret.data?.[user];
    if (password === undefined) {
      throw new CliError(
        `Secret ${NAMESPACE}/${SERVICE}-auth has no key ${user}`,
        'Upgrade the release: its chart makes that user.',
      );
    }
    const tls = ca === undefined ? undefined : { ca, servername: `${SERVICE}.${NAMESPACE}.svc` };
    return { address: service.spec?.clusterIP ?? '', password: Buffer.from(password, 'base64').toString(), tls };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const advice = `Is Sandlot installed in ${NAMESPACE} there, with NATS? Otherwise name a server with --server.`;
    throw new CliError(`the cluster of ${kubeconfig} does not tell where NATS is: ${error.message}`, advice);
  } finally {
    await client.close();
  }
}

/** The authority of the certificate that the chart made; undefined for a release without one. */
async function findAuthority(client: KubeClient): Promise<string | undefined> {
  try {
    const secret = await client.get(secrets, { namespace: NAMESPACE, name: `${SERVICE}-tls` });
    return Buffer.from(secret.data?.['ca.crt'] ?? '', 'base64').toString();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whether a TCP connection succeeds. A ClusterIP is usually reachable only from a node of the cluster. */
function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial({ host, port, timeout: REACH_MS });
    const end = (found: boolean) => () => {
      socket.destroy();
      resolve(found);
    };
    socket.once('connect', end(true)).once('timeout', end(false)).once('error', end(false));
  });
}

async function forward(kubeconfig: string): Promise<{ port: number; child: ChildProcess }> {
  const port = await findFreePort();
  const target = ['port-forward', `service/${SERVICE}`, `${port}:${NATS_PORT}`];
  const child = spawn('kubectl', ['--kubeconfig', kubeconfig, '-n', NAMESPACE, ...target], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const failed = new Promise<never>((_, reject) => {
    const advice =
      'NATS is reached through `kubectl port-forward`, so kubectl has to be installed; or name a server with --server.';
    const fail = (): void => reject(new CliError('the port-forward to NATS ended', advice));
    child.once('error', fail).once('exit', fail);
  });
  failed.catch(() => undefined);
  for (let waitedMs = 0; waitedMs < FORWARD_LIMIT_MS; waitedMs += 200) {
    if (await Promise.race([canConnect('127.0.0.1', port), failed])) return { port, child };
    await Promise.race([systemClock.sleep(200), failed]);
  }
  child.kill();
  throw new CliError('the port-forward to NATS does not come up', 'Name a server with --server.');
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

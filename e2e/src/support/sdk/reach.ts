import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import type { Sandbox } from 'e2b';
import { runKubectlOrFail } from '../kubectl.ts';

const run = promisify(execFile);

/** Answers take milliseconds here: no answer within this time counts as refused. */
const PATIENCE_S = 2;

/** Which of these `address:port`, IPv6 in brackets, accept a TCP connection from inside a sandbox; sorted. */
export async function listReachable(sandbox: Sandbox, places: readonly string[]): Promise<string[]> {
  const attempts = places.map((place) => {
    const [, host = '', port = ''] = /^\[?([^\]]*)\]?:(\d+)$/.exec(place) ?? [];
    return `(timeout ${PATIENCE_S} bash -c '</dev/tcp/${host}/${port}' 2>/dev/null && echo '${place}') &`;
  });
  const { stdout } = await sandbox.commands.run(`${attempts.join(' ')} wait`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .sort();
}

/** `address:port` of the Services of the installation, of the API server and of the cluster's DNS. */
export async function listServices(): Promise<string[]> {
  const path = '{range .items[*]}{.metadata.name} {.spec.clusterIP}:{.spec.ports[0].port}{"\\n"}{end}';
  const listed = await runKubectlOrFail(['get', 'services', '-n', 'sandlot-system', '-o', `jsonpath=${path}`]);
  const places = listed.split('\n').flatMap((line) => /^\S+ (\d+\.\d+\.\d+\.\d+:\d+)$/.exec(line)?.[1] ?? []);
  return [...places, '10.96.0.1:443', '10.96.0.10:53'];
}

/** The address of a Service of the installation. */
export function readServiceAddress(name: string): Promise<string> {
  return runKubectlOrFail(['get', 'service', '-n', 'sandlot-system', name, '-o', 'jsonpath={.spec.clusterIP}']);
}

/** `address:port` of the Services of the egress proxy, as {@link listServices} has them: those that sandboxes reach. */
export async function listProxyPlaces(): Promise<string[]> {
  const [first, second] = await Promise.all(['sandlot-egress', 'sandlot-egress-inspect'].map(readServiceAddress));
  return [`${first ?? ''}:53`, `${second ?? ''}:80`];
}

/** The address of the node. */
export function readNodeAddress(): Promise<string> {
  return runKubectlOrFail(['get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[0].address}']);
}

/** A server on port 80 of a public address that this machine takes meanwhile. Use one from a block without hosts. */
export async function openOutside(address: string): Promise<AsyncDisposable> {
  // With a wider scope, masquerading gives it to other connections of this machine, which break when it goes.
  await run('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo', 'scope', 'host']);
  const server = createServer((_request, response) => response.end('outside')).listen(80, address);
  await once(server, 'listening');
  return {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await run('ip', ['address', 'delete', `${address}/32`, 'dev', 'lo']);
    },
  };
}

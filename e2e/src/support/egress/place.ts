import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtempDisposable, readFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBinaries, getClusterPaths, issueCertificates } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';

const run = promisify(execFile);

/** Where a server of the internet is. */
export interface Place extends AsyncDisposable {
  /** An empty folder but for the certificates. */
  readonly folder: string;
  /** The certificate for its names and its key, as PEM. */
  readonly cert: string;
  readonly key: string;
  /** The authority that signed it, which the egress proxy trusts. */
  readonly ca: string;
}

/** Gives this machine an address, and issues a certificate for the names of a server there. */
export async function openPlace(address: string, names: readonly string[]): Promise<Place> {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), 'sandlot-upstream-')));
  const pki = (await ensureBinaries(['pki']))('pki');
  const { upstreams } = getClusterPaths(checkoutRoot);
  for (const name of ['ca.crt', 'ca.key']) await copyFile(join(upstreams, name), join(folder, name));
  const certificate = { name: 'upstream', commonName: 'upstream', dnsNames: [...names] };
  await issueCertificates(pki, { dir: folder, certificates: [certificate] });
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
  const [cert, key, ca] = await Promise.all([read('upstream.crt'), read('upstream.key'), read('ca.crt')]);
  await run('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo', 'scope', 'host']);
  stack.defer(async () => {
    await run('ip', ['address', 'delete', `${address}/32`, 'dev', 'lo']);
  });
  const kept = stack.move();
  return { folder, cert, key, ca, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Has a server listen. Disposing closes it and its connections. */
export async function listen(
  server: Server & { closeAllConnections?: () => void },
  port: number,
  address: string,
): Promise<Disposable> {
  server.listen(port, address);
  await once(server, 'listening');
  return {
    [Symbol.dispose]: () => {
      server.closeAllConnections?.();
      server.close();
    },
  };
}

import { once } from 'node:events';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { ensureBinaries, issueCertificates } from '@sandlot/local-cluster';

/** A TLS proxy, and what a client needs to pass it. */
export interface CertificateProxy extends AsyncDisposable {
  readonly url: string;
  /** Paths of PEM files. */
  readonly caFile: string;
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
}

/** Starts a proxy that passes on to `target` only what comes from clients with a certificate of its authority. */
export async function startCertificateProxy(target: URL): Promise<CertificateProxy> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-certificates-'));
  const dir = folder.path;
  const certificates = [
    { name: 'proxy', commonName: 'proxy', ips: ['127.0.0.1'] },
    { name: 'client', commonName: 'client' },
  ];
  await issueCertificates((await ensureBinaries(['pki']))('pki'), { dir, certificates });
  const [ca, cert, key] = await Promise.all(
    ['ca.crt', 'proxy.crt', 'proxy.key'].map((file) => readFile(join(dir, file))),
  );
  const server = createServer({ ca, cert, key, requestCert: true, rejectUnauthorized: true }, (socket) => {
    const upstream = connect(target.port === '' ? 80 : Number(target.port), target.hostname);
    socket.pipe(upstream).pipe(socket);
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile: join(dir, 'ca.crt'),
    clientCertFile: join(dir, 'client.crt'),
    clientKeyFile: join(dir, 'client.key'),
    [Symbol.asyncDispose]: async () => {
      server.close();
      await folder.remove();
    },
  };
}

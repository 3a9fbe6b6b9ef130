import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { ensureS3Server } from '../binaries/go-tools.ts';
import { isHealthy } from '../cluster/probe.ts';
import { issueCertificates } from '../pki.ts';
import { createTempFolder, removeTempFolder } from '../process/temp-folder.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** Where the server listens, and how. */
export interface S3Options {
  /**
   * Address that the server listens on, and by which clients reach it. Default 127.0.0.1. Pods reach that of their node, the host
   * name of `ClusterHandle.server`.
   */
  address?: string | undefined;
  /** Serves HTTPS, with a certificate of an authority of its own. Default false. */
  tls?: boolean | undefined;
}

/** A server with one empty bucket. Requests name the bucket in their path. */
export interface S3Server extends Server {
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** PEM of the authority that signed the server's certificate. Undefined without TLS. */
  readonly ca: string | undefined;
  /** Folder with the objects of the bucket, as files. */
  readonly objects: string;
}

const account = { bucket: 'snapshots', region: 'us-east-1', accessKey: 'access', secretKey: 'secret' } as const;
const healthPath = '/health';

/** Starts an S3 server that dies with this process. Throws ComponentError. */
export async function startS3Server(options: S3Options = {}): Promise<S3Server> {
  const { address = '127.0.0.1', tls = false } = options;
  const program = await ensureS3Server();
  const identity = tls ? await issueIdentity(address) : undefined;
  const formatUrl = (port: number) => `${tls ? 'https' : 'http'}://${address}:${port}`;
  let objects = '';
  const server = await startServer({
    name: 'versitygw',
    url: formatUrl,
    prepare: async ({ port, folder }) => {
      objects = join(folder, 'data', account.bucket);
      await mkdir(objects, { recursive: true });
      const flags = identity === undefined ? [] : await writeIdentity(identity, folder);
      return [program, ...listFlags(`${address}:${port}`), ...flags, 'posix', join(folder, 'data')];
    },
    isReady: async (port) => isHealthy({ kind: 'http', url: `${formatUrl(port)}${healthPath}` }),
  });
  return Object.assign(server, { ...account, ca: identity?.ca, objects });
}

function listFlags(listen: string): string[] {
  const { accessKey, secretKey, region } = account;
  const credentials = ['--access', accessKey, '--secret', secretKey, '--region', region];
  return ['--port', listen, ...credentials, '--health', healthPath, '--quiet'];
}

/** Contents of PEM files. */
interface Identity {
  ca: string;
  certificate: string;
  key: string;
}

async function issueIdentity(address: string): Promise<Identity> {
  const bin = await ensureBinaries(['pki']);
  const dir = await createTempFolder();
  try {
    const certificate = { name: 's3', commonName: 's3', dnsNames: ['localhost'], ips: [address] };
    await issueCertificates(bin('pki'), { dir, certificates: [certificate] });
    const read = (file: string) => readFile(join(dir, file), 'utf8');
    return { ca: await read('ca.crt'), certificate: await read('s3.crt'), key: await read('s3.key') };
  } finally {
    await removeTempFolder(dir);
  }
}

/** Writes the certificate into the server's folder, again after a wipe, and returns the flags that name it. */
async function writeIdentity({ certificate, key }: Identity, folder: string): Promise<string[]> {
  const files = { certificate: join(folder, 's3.crt'), key: join(folder, 's3.key') };
  await writeFile(files.certificate, certificate);
  await writeFile(files.key, key, { mode: 0o600 });
  return ['--cert', files.certificate, '--key', files.key];
}

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ControlPlane } from '@sandlot/local-cluster';
import type { Run } from '../test/harness.ts';

/** The flags of the chart's Deployment; MALLOC_ARENA_MAX below is from there, too. */
const FLAGS = ['--max-semi-space-size=2', '--no-maglev'];

const SERVICE = new URL('..', import.meta.url);
const BUNDLER = fileURLToPath(new URL('../../../tools/up/src/bundle.ts', import.meta.url));

/** Builds the bundle of the image, and provides what the kubelet mounts into a pod of the ServiceAccount. */
export async function runInPod(plane: ControlPlane, account: string): Promise<Run> {
  await promisify(execFile)(process.execPath, [BUNDLER, fileURLToPath(SERVICE)]);
  await plane.kubectl(['create', 'serviceaccount', account]);
  const { stdout: token } = await plane.kubectl(['create', 'token', account]);
  const mount = await mkdtemp(join(tmpdir(), 'sandlot-gateway-'));
  await Promise.all([writeFile(join(mount, 'token'), token), writeFile(join(mount, 'ca.crt'), await readCa(plane))]);
  const { hostname, port } = new URL(plane.server);
  const found = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, SERVICE_ACCOUNT_DIR: mount };
  return { main: new URL('dist/main.js', SERVICE), flags: FLAGS, env: { ...found, MALLOC_ARENA_MAX: '1' } };
}

async function readCa({ kubeconfigPath }: ControlPlane): Promise<Buffer> {
  const [, data = ''] = /certificate-authority-data: (\S+)/.exec(await readFile(kubeconfigPath, 'utf8')) ?? [];
  return Buffer.from(data, 'base64');
}

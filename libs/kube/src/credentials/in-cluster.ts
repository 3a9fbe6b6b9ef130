import { readFile, stat } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '@sandlot/std';
import type { Credentials } from './credentials.ts';

const MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How often to check the file's mtime. The kubelet replaces a token long before it expires. */
const RECHECK_MS = 10_000;

interface MountedToken {
  readonly value: string;
  readonly mtimeMs: number;
  readonly checkedAtMs: number;
}

/** Credentials of this pod's service account, undefined outside a cluster. Reads the token again when its file changes. */
export async function loadInClusterCredentials(options: {
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  readonly mount?: string | undefined;
}): Promise<Credentials | undefined> {
  const { clock, env, mount = MOUNT } = options;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  if (host === undefined || host === '') return undefined;
  const tokenFile = join(mount, 'token');
  let token = await readToken(tokenFile, clock).catch(() => undefined);
  if (token === undefined) return undefined;
  let ca = await readFile(join(mount, 'ca.crt'));
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    get ca() {
      return ca;
    },
    async getAuthorization() {
      if (token === undefined || clock.monotonic() - token.checkedAtMs >= RECHECK_MS) {
        token = await recheckToken(tokenFile, clock, token);
      }
      return `Bearer ${token.value}`;
    },
    async refresh() {
      token = undefined;
      ca = await readFile(join(mount, 'ca.crt'));
    },
  };
}

async function readToken(file: string, clock: Clock): Promise<MountedToken> {
  const { mtimeMs } = await stat(file);
  return { value: (await readFile(file, 'utf8')).trim(), mtimeMs, checkedAtMs: clock.monotonic() };
}

/** Keeps the current token while the file is missing, which can happen while the kubelet swaps the volume. */
async function recheckToken(file: string, clock: Clock, held: MountedToken | undefined): Promise<MountedToken> {
  if (held === undefined) return readToken(file, clock);
  const mtimeMs = await stat(file).then(
    (found) => found.mtimeMs,
    () => held.mtimeMs,
  );
  return mtimeMs === held.mtimeMs ? { ...held, checkedAtMs: clock.monotonic() } : readToken(file, clock);
}

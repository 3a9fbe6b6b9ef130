import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '@sandlot/std';
import type { Credentials } from './credentials.ts';

/** How often to run exec plugins and read token files again. A token that expires earlier costs one 401. */
const RECHECK_MS = 10_000;

interface Loaded {
  readonly server: string;
  readonly options: RequestOptions;
  readonly loadedAtMs: number;
  /** Returns fresh credentials from a plugin, provider or token file. Static credentials never change. */
  reload(): Promise<Loaded>;
}

interface Source {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly clock: Clock;
}

/**
 * Credentials from a kubeconfig: client certificates, bearer and basic tokens, exec plugins and providers, impersonation.
 * Uses client-node for parsing and plugins, and imports it on first use because the import takes a second or two.
 */
export async function loadKubeconfigCredentials(source: Source): Promise<Credentials> {
  let loaded = await load(source);
  return {
    server: loaded.server,
    get ca() {
      return pem(loaded.options.ca);
    },
    get cert() {
      return pem(loaded.options.cert);
    },
    get key() {
      return pem(loaded.options.key);
    },
    get insecure() {
      return loaded.options.rejectUnauthorized === false;
    },
    get serverName() {
      return loaded.options.servername;
    },
    get impersonate() {
      return header(loaded.options, 'Impersonate-User');
    },
    async getAuthorization() {
      loaded = await loaded.reload();
      const { auth } = loaded.options;
      return auth == null ? header(loaded.options, 'Authorization') : `Basic ${Buffer.from(auth).toString('base64')}`;
    },
    async refresh() {
      // A burst of 401s must not run an exec plugin once per request.
      if (source.clock.monotonic() - loaded.loadedAtMs >= RECHECK_MS / 10) loaded = await load(source);
    },
  };
}

/** Images leave it out: a pod has its service account. */
async function importClientNode(): Promise<{ readonly KubeConfig: typeof KubeConfig }> {
  try {
    return await import('@kubernetes/client-node');
  } catch (cause) {
    throw new Error('this program cannot read kubeconfig files: @kubernetes/client-node is not beside it', { cause });
  }
}

async function load(source: Source): Promise<Loaded> {
  const { KubeConfig: Loader } = await importClientNode();
  const config = new Loader();
  if (source.kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(source.kubeconfig);
  if (source.context !== undefined) config.setCurrentContext(source.context);
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (cluster === null) throw new Error(`kubeconfig has no context ${JSON.stringify(config.getCurrentContext())}`);
  if (cluster.proxyUrl !== undefined) throw new Error(`kubeconfig: proxy-url of ${cluster.name} is not supported`);
  const isStatic = user?.exec === undefined && user?.authProvider === undefined;

  const read = async (): Promise<Loaded> => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const loaded: Loaded = { server: cluster.server, options, loadedAtMs: source.clock.monotonic(), reload };
    async function reload(): Promise<Loaded> {
      return isStatic || source.clock.monotonic() - loaded.loadedAtMs < RECHECK_MS ? loaded : read();
    }
    return loaded;
  };
  return read();
}

function header(options: RequestOptions, name: string): string | undefined {
  const { headers } = options;
  const value =
    headers === undefined || Array.isArray(headers) ? undefined : (headers as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}

/** client-node puts a single PEM into these options, never a list. */
function pem(value: RequestOptions['ca'] | RequestOptions['key']): string | Buffer | undefined {
  return typeof value === 'string' || Buffer.isBuffer(value) ? value : undefined;
}

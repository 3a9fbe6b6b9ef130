import { createKey } from '@sandlot/tenancy';
import { findFreePort } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { checkoutRoot } from '@sandlot/up';
import { pause } from '../claims/shapes.ts';
import { NAMESPACE } from '../claims/stage.ts';
import type { Stage } from '../claims/stage.ts';
import { buildRecord } from '../support/record.ts';

export const SERVERS = ['api', 'gateway'] as const;
export type ServerName = (typeof SERVERS)[number];

/** A key for this run only. */
const TOKEN_KEY = Buffer.alloc(32, 7).toString('base64');
const CREATE_EVERY_MS = 500;
const USE_MS = 3_000;
/** Fine enough for the time of a start. */
const READY_EVERY_MS = 20;
/** Shorter than a lease. */
const FAULT_LIMIT_MS = 5_000;

/** How to start a process of a service, each time the same. */
interface Recipe {
  readonly main: URL;
  readonly env: Readonly<Record<string, string>>;
}

/** The API and the gateway as processes beside the controllers of a stage, with a simulated user. */
export class ApiAndGateway implements AsyncDisposable {
  readonly #running = new Map<ServerName, ServiceProcess>();
  readonly #recipes: Readonly<Record<ServerName, Recipe>>;
  readonly #url: string;
  readonly #key: string;
  /** Resolves with the first 5xx answer. */
  readonly #faulted = Promise.withResolvers<undefined>();

  private constructor(recipes: Readonly<Record<ServerName, Recipe>>, url: string, key: string) {
    this.#recipes = recipes;
    this.#url = url;
    this.#key = key;
  }

  /** `main`: of each service, relative to its folder. Their images have a bundle. */
  static async open(stage: Stage, main: 'src/main.ts' | 'dist/main.js' = 'src/main.ts'): Promise<ApiAndGateway> {
    const limits = { createsPerSecond: 3, sandboxes: 0 };
    const input = { namespace: NAMESPACE, team: NAMESPACE, role: 'tenant', description: '', limits } as const;
    const { text } = await createKey({ client: stage.client, namespace: NAMESPACE }, input);
    const [apiPort, port] = [await findFreePort(), await findFreePort()];
    const common = { KUBECONFIG: stage.plane.kubeconfigPath, NATS_URL: stage.nats.url, POD_NAMESPACE: NAMESPACE };
    const places = { KEYS_NAMESPACE: NAMESPACE, ENVS_NAMESPACE: NAMESPACE };
    const api = {
      ...places,
      API_PORT: String(apiPort),
      ADMIN_PORT: '0',
      ENVD_TOKEN_KEY: TOKEN_KEY,
      CREATE_TIMEOUT: '15s',
    };
    const gateway = {
      PORT: String(port),
      API_URL: `http://127.0.0.1:${apiPort}`,
      CONNECT_TIMEOUT: '500ms',
      HOLD_TIMEOUT: '10s',
    };
    const settings = { api, gateway };
    const recipes = buildRecord(SERVERS, (name) => ({
      main: new URL(`file://${checkoutRoot}/services/${name}/${main}`),
      env: { ...common, ...stage.env, ...settings[name] },
    }));
    const servers = new ApiAndGateway(recipes, `http://127.0.0.1:${port}`, text);
    for (const name of SERVERS) await servers.start(name);
    return servers;
  }

  /** Starts a process, and waits until it is ready, as the Service of a cluster does before it sends requests. */
  async start(name: ServerName): Promise<void> {
    const { main, env } = this.#recipes[name];
    const started = await startServiceProcess(main, env);
    this.#running.set(name, started);
    while (!(await fetch(`http://127.0.0.1:${started.probePort}/readyz`)).ok) await pause(READY_EVERY_MS);
  }

  /** Kills a process with SIGKILL. */
  async kill(name: ServerName): Promise<void> {
    await this.#running.get(name)?.kill();
    this.#running.delete(name);
  }

  /** Asks the API through the gateway. Throws unless both answer as they should. */
  async list(): Promise<void> {
    const response = await this.#call('GET', '/v2/sandboxes');
    if (response?.status !== 200) throw new Error(`API and gateway answered ${response?.status ?? 'nothing'}`);
    await response.arrayBuffer();
  }

  metricsAddress(name: ServerName): string {
    return `127.0.0.1:${this.#running.get(name)?.metricsPort ?? 0}`;
  }

  /**
   * Sends requests through the gateway until `done` is aborted, so that every metric of API and gateway has values: sandboxes that
   * are created, used, paused, woken and killed; unknown ids; a key that creates too fast.
   */
  async use(done: AbortSignal): Promise<void> {
    const uses: Promise<void>[] = [];
    while (!done.aborted) {
      uses.push(this.#useOnce());
      if (uses.length === 8) uses.push(...Array.from({ length: 8 }, () => this.#create().then(() => undefined)));
      await this.#call('GET', '/v2/sandboxes');
      await this.#call('GET', '/volumes');
      await this.#toSandbox(`nobody${uses.length}`);
      await pause(CREATE_EVERY_MS);
    }
    await Promise.all(uses);
  }

  /** Waits for a 5xx answer other than 501, or for a limit. */
  async waitForFault(): Promise<void> {
    await Promise.race([this.#faulted.promise, pause(FAULT_LIMIT_MS)]);
  }

  async #useOnce(): Promise<void> {
    const id = await this.#create();
    if (id === undefined) return;
    await this.#toSandbox(id);
    await this.#call('POST', `/sandboxes/${id}/pause`, {});
    await this.#toSandbox(id);
    await pause(USE_MS);
    await this.#call('DELETE', `/sandboxes/${id}`);
  }

  async #create(): Promise<string | undefined> {
    const body = { templateID: 'boxes', timeout: 600, autoPause: true, autoResume: { enabled: true } };
    const response = await this.#call('POST', '/v2/sandboxes', body);
    return response?.status === 201 ? ((await response.json()) as { sandboxID: string }).sandboxID : undefined;
  }

  /** Sends a request to a sandbox. Simulated pods have no server, so the gateway answers. */
  async #toSandbox(id: string): Promise<void> {
    const headers = { 'E2b-Sandbox-Id': id, 'E2b-Sandbox-Port': '3000' };
    await fetch(this.#url, { headers }).then((response) => response.arrayBuffer(), ignore);
  }

  /** Sends an API request; undefined when the connection breaks. */
  async #call(method: string, path: string, body?: object): Promise<Response | undefined> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const init = { method, headers: { 'X-API-KEY': this.#key }, ...content };
    const response = await fetch(`${this.#url}${path}`, init).catch(ignore);
    if (response !== undefined && response.status >= 500 && response.status !== 501) this.#faulted.resolve(undefined);
    return response;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map((process) => process.kill()));
  }
}

const ignore = (): undefined => undefined;

import { createKey } from '@sandlot/tenancy';
import { freePort } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { checkoutRoot } from '@sandlot/up';
import { pause } from '../claims/shapes.ts';
import { NAMESPACE } from '../claims/stage.ts';
import type { Stage } from '../claims/stage.ts';

export const SERVERS = ['api', 'gateway'] as const;
export type ServerName = (typeof SERVERS)[number];

/** Of no installation. */
const TOKEN_KEY = Buffer.alloc(32, 7).toString('base64');
const CREATE_EVERY_MS = 500;
const USE_MS = 3_000;
/** Shorter than a lease lasts. */
const FAULT_LIMIT_MS = 5_000;

/** API and gateway as processes beside the controllers of a stage, and somebody who uses them. */
export class ApiAndGateway implements AsyncDisposable {
  readonly #running: ReadonlyMap<ServerName, ServiceProcess>;
  readonly #url: string;
  readonly #key: string;
  /** An answer that says that the server, not the caller, is at fault. */
  readonly #faulted = Promise.withResolvers<undefined>();

  private constructor(running: ReadonlyMap<ServerName, ServiceProcess>, url: string, key: string) {
    this.#running = running;
    this.#url = url;
    this.#key = key;
  }

  static async open(stage: Stage): Promise<ApiAndGateway> {
    const limits = { createsPerSecond: 3, sandboxes: 0 };
    const input = { namespace: NAMESPACE, team: NAMESPACE, role: 'tenant', description: '', limits } as const;
    const { text } = await createKey({ client: stage.client, namespace: NAMESPACE }, input);
    const [apiPort, port] = [await freePort(), await freePort()];
    const common = { KUBECONFIG: stage.plane.kubeconfigPath, NATS_URL: stage.nats.url, POD_NAMESPACE: NAMESPACE };
    const api = { API_PORT: String(apiPort), ENVD_TOKEN_KEY: TOKEN_KEY, CREATE_TIMEOUT: '15s' };
    const gateway = {
      PORT: String(port),
      API_URL: `http://127.0.0.1:${apiPort}`,
      CONNECT_TIMEOUT: '500ms',
      HOLD_TIMEOUT: '10s',
    };
    const settings = { api, gateway };
    const running = new Map<ServerName, ServiceProcess>();
    for (const name of SERVERS) {
      const main = new URL(`file://${checkoutRoot}/services/${name}/src/main.ts`);
      running.set(name, await startServiceProcess(main, { ...common, ...stage.env, ...settings[name] }));
    }
    for (const { probePort } of running.values()) await ready(probePort);
    return new ApiAndGateway(running, `http://127.0.0.1:${port}`, text);
  }

  metricsAddress(name: ServerName): string {
    return `127.0.0.1:${this.#running.get(name)?.metricsPort ?? 0}`;
  }

  /**
   * Until `done` is aborted, a bit of everything that the doors tell of, all of it through the gateway: sandboxes that are created,
   * used, paused, woken and killed; ids that nobody has; a key that creates too fast.
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

  /** Resolves when a call has been answered with a 5xx, other than what is not implemented, or after a while. */
  async faulted(): Promise<void> {
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

  /** Simulated pods have no server: what answers is the gateway. */
  async #toSandbox(id: string): Promise<void> {
    const headers = { 'E2b-Sandbox-Id': id, 'E2b-Sandbox-Port': '3000' };
    await fetch(this.#url, { headers }).then((response) => response.arrayBuffer(), ignore);
  }

  /** Undefined when the server hangs up. */
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

async function ready(probePort: number): Promise<void> {
  while (!(await fetch(`http://127.0.0.1:${probePort}/readyz`)).ok) await pause(100);
}

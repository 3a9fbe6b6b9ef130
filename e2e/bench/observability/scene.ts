import { startPrometheus, startRedis, startTraceBackend } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { CONTROLLERS, Stage } from '../claims/stage.ts';
import { ApiAndGateway, SERVERS } from './api-and-gateway.ts';
import { Egress, EGRESS } from './egress.ts';
import { Hibernation } from './hibernation.ts';
import { OPTIONAL, OptionalServices } from './optional.ts';

/** How many Pods fit on the simulated nodes. */
const PODS = 400;
export const SCRAPE_SECONDS = 0.5;

export interface SceneOptions {
  /** The contents of rule files. */
  readonly rules: readonly string[];
}

type Parts = Pick<Scene, 'stage' | 'servers' | 'hibernation' | 'egress' | 'optional' | 'prometheus'>;

/** A stage with API, gateway, snapshot-controller, a node component, egress, the template-builder and the webhooks process, whose processes export traces, use Redis and are scraped by Prometheus. */
export class Scene implements AsyncDisposable {
  readonly stage: Stage;
  readonly servers: ApiAndGateway;
  readonly hibernation: Hibernation;
  readonly egress: Egress;
  readonly optional: OptionalServices;
  readonly prometheus: Server;
  readonly #open: AsyncDisposableStack;

  private constructor(
    { stage, servers, hibernation, egress, optional, prometheus }: Parts,
    open: AsyncDisposableStack,
  ) {
    this.stage = stage;
    this.servers = servers;
    this.hibernation = hibernation;
    this.egress = egress;
    this.optional = optional;
    this.prometheus = prometheus;
    this.#open = open;
  }

  static async raise({ rules }: SceneOptions): Promise<Scene> {
    await using open = new AsyncDisposableStack();
    const stage = open.use(await Stage.raise(PODS));
    const redis = await startRedis();
    open.defer(() => redis.stop());
    const traces = await startTraceBackend();
    open.defer(() => traces.stop());
    // Every trace is sampled: otherwise chance would decide which latencies have exemplars.
    const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: traces.otlpEndpoint, TRACE_SAMPLE_RATIO: '1' };
    stage.env = { REDIS_URL: redis.url, USAGE_ENABLED: 'true', ...tracing };
    await stage.startControllers({ 'claim-controller': 2 });
    const servers = open.use(await ApiAndGateway.open(stage));
    const hibernation = open.use(await Hibernation.open(stage));
    const egress = open.use(await Egress.open(stage));
    const optional = open.use(await OptionalServices.open(stage));
    const scrapeTargets = [
      ...CONTROLLERS.map((job) => ({ job, addresses: stage.metricsAddresses(job) })),
      ...SERVERS.map((job) => ({ job, addresses: [servers.metricsAddress(job)] })),
      ...Object.entries({ ...hibernation.addresses, ...egress.addresses, ...optional.addresses }).map(
        ([job, address]) => ({
          job,
          addresses: [address],
        }),
      ),
    ];
    const prometheus = await startPrometheus({ scrapeTargets, rules, intervalMs: SCRAPE_SECONDS * 1_000 });
    open.defer(() => prometheus.stop());
    return new Scene({ stage, servers, hibernation, egress, optional, prometheus }, open.move());
  }

  /** The metrics of each process but the node component, in the older text format. */
  async pages(): Promise<Record<string, string>> {
    const pages = CONTROLLERS.map(async (name) => [name, await this.stage.fetchMetrics(name)] as const);
    const own = SERVERS.map(async (name) => [name, await fetchPage(this.servers.metricsAddress(name))] as const);
    const name = 'snapshot-controller';
    const saver = fetchPage(this.hibernation.addresses[name]).then((page) => [name, page] as const);
    const egress = EGRESS.map(async (each) => [each, await fetchPage(this.egress.addresses[each])] as const);
    const optional = OPTIONAL.map(async (each) => [each, await fetchPage(this.optional.addresses[each])] as const);
    return Object.fromEntries(await Promise.all([...pages, ...own, saver, ...egress, ...optional]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}

async function fetchPage(address: string): Promise<string> {
  return (await fetch(`http://${address}/metrics`)).text();
}

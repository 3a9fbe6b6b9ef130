import { startPrometheus, startRedis, startTraceBackend } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { CONTROLLERS, Stage } from '../claims/stage.ts';

/** Pods that the simulated nodes have room for. */
const PODS = 400;
export const SCRAPE_SECONDS = 0.5;

export interface SceneOptions {
  /** Texts of rule files. */
  readonly rules: readonly string[];
}

/** A stage whose controllers trace, keep deadlines in Redis, and are scraped by a Prometheus. */
export class Scene implements AsyncDisposable {
  readonly stage: Stage;
  readonly prometheus: Server;
  readonly #open: AsyncDisposableStack;

  private constructor(stage: Stage, prometheus: Server, open: AsyncDisposableStack) {
    this.stage = stage;
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
    stage.env = { REDIS_URL: redis.url, OTEL_EXPORTER_OTLP_ENDPOINT: traces.otlpEndpoint };
    await stage.startControllers(2);
    const scrapeTargets = CONTROLLERS.map((job) => ({ job, addresses: stage.metricsAddresses(job) }));
    const prometheus = await startPrometheus({ scrapeTargets, rules, intervalMs: SCRAPE_SECONDS * 1_000 });
    open.defer(() => prometheus.stop());
    return new Scene(stage, prometheus, open.move());
  }

  /** What each controller says of itself, in the older text format. */
  async pages(): Promise<Record<string, string>> {
    const pages = CONTROLLERS.map(async (name) => [name, await this.stage.metricsOf(name)] as const);
    return Object.fromEntries(await Promise.all(pages));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}

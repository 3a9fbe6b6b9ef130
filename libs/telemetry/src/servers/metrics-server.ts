import { Registry } from 'prom-client';
import type { HttpListener, ListenOptions } from './http-listener.ts';
import { listen } from './http-listener.ts';
import type { MetricsRegistry } from '../metrics/registry.ts';

export interface MetricsServerOptions extends ListenOptions {
  readonly registry: MetricsRegistry;
}

/** Serves `/metrics`: OpenMetrics with exemplars to scrapers that accept it, the text format to others. */
export function serveMetrics({ port, host, registry }: MetricsServerOptions): Promise<HttpListener> {
  const render = createRenderer(registry);
  return listen({ port, host }, (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics') {
      response.writeHead(404).end('not found\n');
      return;
    }
    const openMetrics = (request.headers.accept ?? '').includes('application/openmetrics-text');
    render(openMetrics).then(
      ({ contentType, body }) => response.writeHead(200, { 'Content-Type': contentType }).end(body),
      () => response.writeHead(500).end('metrics could not be collected\n'),
    );
  });
}

interface Rendered {
  readonly contentType: string;
  readonly body: string;
}

/** The registry has one format while it renders, so scrapes take turns. */
function createRenderer(registry: MetricsRegistry): (openMetrics: boolean) => Promise<Rendered> {
  let previous: Promise<unknown> = Promise.resolve();
  return (openMetrics) => {
    const current = previous.then(() => renderOnce(registry, openMetrics));
    previous = current.catch(() => undefined);
    return current;
  };
}

async function renderOnce(registry: MetricsRegistry, openMetrics: boolean): Promise<Rendered> {
  const contentType = openMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE;
  registry.setContentType(contentType);
  if (!openMetrics) restoreCounterNames(registry);
  return { contentType, body: await registry.metrics() };
}

/** Rendering OpenMetrics removes `_total` from the names of counters for good; the text format needs it back. */
function restoreCounterNames(registry: MetricsRegistry): void {
  for (const metric of registry.getMetricsAsArray()) {
    if (String(metric.type) === 'counter' && !metric.name.endsWith('_total')) metric.name += '_total';
  }
}

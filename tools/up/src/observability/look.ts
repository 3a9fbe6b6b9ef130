import { fetchTraces } from '@sandlot/local-cluster';
import { addresses, observability, ports } from './manifests.ts';

/** Where Prometheus answers on this machine. */
export const prometheusUrl = `http://${addresses.prometheus}:${ports.prometheus}`;

/** Where Jaeger's API and page answer on this machine. */
export const tracesUrl = `http://${addresses.jaeger}:${ports.traces}`;

/** Has data as soon as a controller has done anything. */
const QUERY = 'sum by (job, result) (rate(sandlot_reconcile_seconds_count[1m]))';

/** Lines that say where to look: metrics, a query, alerts, traces, the newest trace of a claim. */
export async function whereToLook(): Promise<readonly string[]> {
  const newest = await newestTrace();
  const pages = [
    ['metrics', `${prometheusUrl}/classic/graph`],
    ['reconciles per second', graphUrl(QUERY)],
    ['what is scraped', `${prometheusUrl}/classic/targets`],
    ['alerts', `${prometheusUrl}/classic/alerts`],
    ['traces', `${tracesUrl}/`],
    ...(newest === undefined ? [] : [['the newest claim', `${tracesUrl}/trace/${newest}`]]),
  ];
  const forward = (name: string, port: number): string =>
    `  kubectl -n ${observability.namespace} port-forward svc/${name} ${port}`;
  return [
    ...pages.map(([title = '', url = '']) => `  ${title.padEnd(21)}  ${url}`),
    '  from another machine:',
    forward('prometheus', ports.prometheus),
    forward('jaeger', ports.traces),
  ];
}

function graphUrl(query: string): string {
  const panel = { 'g0.expr': query, 'g0.tab': '0', 'g0.range_input': '15m' };
  return `${prometheusUrl}/classic/graph?${new URLSearchParams(panel).toString()}`;
}

/** The trace with the latest span of the claim-controller that begins a trace. */
async function newestTrace(): Promise<string | undefined> {
  const spans = await fetchTraces(tracesUrl, { service: 'claim-controller' }).catch(() => []);
  const roots = spans.filter(({ service, parentSpanId }) => service === 'claim-controller' && parentSpanId === '');
  return roots.toSorted((a, b) => Number(b.startNs - a.startNs))[0]?.traceId;
}

import { fetchTraces } from '@sandlot/local-cluster';
import { addresses, observability, ports } from './manifests.ts';

/** URL of Prometheus on this machine. */
export const prometheusUrl = `http://${addresses.prometheus}:${ports.prometheus}`;

/** URL of Jaeger's API and page on this machine. */
export const tracesUrl = `http://${addresses.jaeger}:${ports.traces}`;

/** Has data after the first reconcile of any controller. */
const QUERY = 'sum by (job, result) (rate(sandlot_reconcile_seconds_count[1m]))';

/** Returns lines with the URLs of metrics, a query, alerts, traces and the newest claim's trace. */
export async function listObservabilityLines(): Promise<readonly string[]> {
  const newest = await findNewestTrace();
  const pages = [
    ['metrics', `${prometheusUrl}/classic/graph`],
    ['reconciles per second', formatGraphUrl(QUERY)],
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

function formatGraphUrl(query: string): string {
  const panel = { 'g0.expr': query, 'g0.tab': '0', 'g0.range_input': '15m' };
  return `${prometheusUrl}/classic/graph?${new URLSearchParams(panel).toString()}`;
}

/** Finds the trace with the latest root span of the claim-controller. */
async function findNewestTrace(): Promise<string | undefined> {
  const spans = await fetchTraces(tracesUrl, { service: 'claim-controller' }).catch(() => []);
  const roots = spans.filter(({ service, parentSpanId }) => service === 'claim-controller' && parentSpanId === '');
  return roots.toSorted((a, b) => Number(b.startNs - a.startNs))[0]?.traceId;
}

// Runs the load on a scene, draws the creation-latency dashboard from the answers of a real Prometheus, and writes
// docs/metrics.md from the exposed metrics.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  collect,
  creationLatency,
  drawDashboard,
  listMetricRows,
  formatMetricsPage,
  toGrafana,
} from '@sandlot/observability';
import { checkoutRoot } from '@sandlot/up';
import { pause } from '../claims/shapes.ts';
import { prepareLoad, runLoad } from './load.ts';
import { SCRAPE_SECONDS, Scene } from './scene.ts';

const SECONDS = 90;
/** Long enough for leases to be renewed. */
const OUTAGE_MS = 8_000;
const IMAGES = join(checkoutRoot, 'docs/images');

await using scene = await Scene.raise({ rules: [] });
await prepareLoad(scene.stage);
const loadedAt = Date.now() / 1_000;
const done = new AbortController();
const used = scene.servers.use(done.signal);
await runLoad(scene.stage, { seconds: SECONDS }).finally(() => done.abort());
await used;
// Without the end of the load, where ratios of very few events would mislead.
const range = { start: loadedAt, end: loadedAt + SECONDS, step: 0.5 };
const source = { url: scene.prometheus.url, scrapeSeconds: SCRAPE_SECONDS };
const dashboard = toGrafana(creationLatency);
const collected = await collect(source, dashboard, range);
const caption =
  `${creationLatency.description} Drawn by npm run docs:dashboards from a real Prometheus: ` +
  `${SECONDS} s of claims on simulated nodes, with a burst that empties a pool. Diamonds are claims with their trace.`;
await mkdir(IMAGES, { recursive: true });
await writeFile(join(IMAGES, 'creation-latency.png'), drawDashboard({ dashboard, collected, range, caption }));

// Retries happen only in an outage of the API server.
await scene.stage.plane.restart();
await pause(OUTAGE_MS);
const page = formatMetricsPage(listMetricRows(await scene.pages()));
await writeFile(join(checkoutRoot, 'docs/metrics.md'), page);

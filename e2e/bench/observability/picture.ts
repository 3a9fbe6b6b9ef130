// Raises the scene, runs the load, and draws the creation-latency dashboard from what a real Prometheus answers.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { collect, creationLatency, drawDashboard, platformHealth, toGrafana, warmPools } from '@sandlot/observability';
import { checkoutRoot } from '@sandlot/up';
import { runLoad } from './load.ts';
import { SCRAPE_SECONDS, Scene } from './scene.ts';

const SECONDS = 90;
const IMAGES = join(checkoutRoot, 'docs/images');

await using scene = await Scene.raise({ rules: [] });
const start = Date.now() / 1_000;
await runLoad(scene.stage, { seconds: SECONDS, outage: false });
const range = { start, end: Date.now() / 1_000, step: 0.5 };
const source = { url: scene.prometheus.url, scrapeSeconds: SCRAPE_SECONDS };
const wanted = process.argv.includes('--all') ? [creationLatency, warmPools, platformHealth] : [creationLatency];
for (const each of wanted) {
  const dashboard = toGrafana(each);
  const collected = await collect(source, dashboard, range);
  const caption =
    `${each.description} Drawn by npm run docs:dashboards from a real Prometheus: ` +
    `${SECONDS} s of claims on simulated nodes, with a burst that empties a pool. Diamonds are claims with their trace.`;
  const file = join(IMAGES, `${each.uid.replace('sandlot-', '')}.png`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, drawDashboard({ dashboard, collected, caption }));
  process.stdout.write(`${file}\n`);
}

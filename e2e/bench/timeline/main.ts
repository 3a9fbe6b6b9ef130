// The stages of single claims on the cluster of `npm run up`: npm run bench:timeline [-- --claims N]
import { randomBytes } from 'node:crypto';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { openCluster } from '@sandlot/local-cluster';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { SandboxClaim } from '@sandlot/api-types';
import { checkoutRoot } from '@sandlot/up';
import { fillPool, measureClaims, measureFloor } from '../support/claim-timeline.ts';

const { values } = parseArgs({ options: { claims: { type: 'string', default: '30' } } });
const count = Number(values.claims);
const cluster = await openCluster({ root: checkoutRoot });
if (cluster === undefined || !(count > 0)) {
  console.error(cluster === undefined ? 'No cluster is up. Run: npm run up' : '--claims needs a number above 0');
  process.exit(1);
}
const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: cluster.kubeconfigPath }) });
const namespace = `bench-${randomBytes(3).toString('hex')}`;

const listClaims = (kind: string, spec: SandboxClaim['spec']): SandboxClaim[] =>
  Array.from({ length: count }, (_, i) => ({ metadata: { namespace, name: `${kind}-${i}` }, spec }));

/** A table row with percentiles by nearest rank. */
function formatRow(name: string, times: readonly number[], floorP50: number): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  const cells = [at(0.5), at(0.9), at(1)].map((ms) => ms.toFixed(1).padStart(8));
  return `| ${name.padEnd(36)} | ${cells.join(' | ')} | ${(at(0.5) / floorP50).toFixed(1).padStart(6)}x |`;
}

await client.create(namespaces, { metadata: { name: namespace } });
try {
  const load = loadavg()[0]?.toFixed(1) ?? '?';
  const floor = await measureFloor(client, namespace, count);
  const floorP50 = [...floor].sort((a, b) => a - b)[Math.ceil(count / 2) - 1] ?? 1;
  await fillPool(client, namespace, Math.min(count, 10));
  const warm = await measureClaims(client, namespace, listClaims('warm', { warmPoolRef: { name: 'boxes' } }));
  const cold = await measureClaims(
    client,
    namespace,
    listClaims('cold', { sandboxTemplateRef: { name: 'box' }, warmpool: 'none' }),
  );
  console.log(
    `${count} claims of each kind, one at a time; load ${load} before; ms from the sending of the creation\n`,
  );
  console.log(`| ${'stage'.padEnd(36)} | ${['p50', 'p90', 'max'].map((t) => t.padStart(8)).join(' | ')} | to floor |`);
  console.log(`|${'-'.repeat(38)}|${'---------:|'.repeat(3)}--------:|`);
  console.log(formatRow('floor: the same three writes, bare', floor, floorP50));
  for (const [kind, timelines] of [['warm', warm] as const, ['cold', cold] as const]) {
    console.log(
      formatRow(
        `${kind}: submitted`,
        timelines.map(({ submittedMs }) => submittedMs),
        floorP50,
      ),
    );
    console.log(
      formatRow(
        `${kind}: bound, as a watch shows it`,
        timelines.map(({ boundMs }) => boundMs),
        floorP50,
      ),
    );
    console.log(
      formatRow(
        `${kind}: ready, as a watch shows it`,
        timelines.map(({ readyMs }) => readyMs),
        floorP50,
      ),
    );
  }
} finally {
  await client.delete(namespaces, { name: namespace });
  await client.close();
}

// The ledger of usage in NATS, kept by a claim-controller that is killed.
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { connectBus, USAGE_BUCKET } from '@sandlot/bus';
import type { Bucket, Bus } from '@sandlot/bus';
import { startNats } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { silentLogger } from '@sandlot/std';
import { formatDay, formatDayKey, parseDayEntry } from '@sandlot/usage';
import type { DayEntry } from '@sandlot/usage';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Platform } from '../../test/platform.ts';
import { computeRunMs, usageRecord } from './record.ts';
import type { UsageRecord } from './record.ts';

const NAMESPACE = 'team-a';
const KEY = 'ab12';

let platform: Platform;
let nats: Server;
let bus: Bus;
let bucket: Bucket;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  [platform, nats] = await Promise.all([Platform.start(), startNats()]);
  env = { NATS_URL: nats.url, USAGE_ENABLED: 'true' };
  bus = await connectBus({ url: nats.url, service: 'test', log: silentLogger });
  const opened = bus.openBucket(USAGE_BUCKET);
  if (opened === undefined) throw new Error('no bucket');
  bucket = opened;
  await platform.startControllers(env);
  await platform.fillPool(NAMESPACE, 2);
});
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  await bus.close();
  await nats.stop();
});

async function claim(name: string): Promise<void> {
  const metadata = { namespace: NAMESPACE, name, annotations: { [annotations.apiKeyId]: KEY } };
  await platform.client.create(sandboxClaims, { metadata, spec: { warmPoolRef: { name: 'pool' } } });
}

async function readRecords(): Promise<readonly UsageRecord[]> {
  const entries = await bucket.read(await bucket.list(`record.${NAMESPACE}.*`));
  return entries
    .map(({ text }) => usageRecord.parse(JSON.parse(text)))
    .filter((record) => record.boundMs !== undefined);
}

async function readDay(): Promise<DayEntry | undefined> {
  const [entry] = await bucket.read([formatDayKey(NAMESPACE, formatDay(Date.now()))]);
  return entry === undefined ? undefined : parseDayEntry(entry.text);
}

/** What the records say of the day up to the time of its entry. */
async function expectSum(entry: DayEntry): Promise<void> {
  const day = formatDay(entry.asOfMs - 1);
  const parts = (await readRecords()).map(
    (record) => computeRunMs(record, { startMs: 0, endMs: entry.asOfMs }).get(day) ?? 0,
  );
  expect(entry.usage[KEY]?.runMs).toBe(parts.reduce((sum, each) => sum + each, 0));
}

it('the usage of a key grows, ends with its sandboxes, and is counted once by processes that are killed', async () => {
  await claim('one');
  await claim('two');
  await platform.until(async () => ((await readDay())?.usage[KEY]?.runMs ?? 0) > 0);
  const before = await readDay();
  if (before === undefined) throw new Error('no day');
  await expectSum(before);
  expect((await readRecords()).map(({ apiKey }) => apiKey)).toEqual([KEY, KEY]);
  expect(Object.values(before.starts).reduce((sum, each) => sum + each, 0)).toBe(2);
  expect(Math.max(...Object.values(before.peaks))).toBe(2);

  await (await platform.startController('claim-controller', env)).kill();
  // Its Sandbox is gone before a process keeps the ledger again: the event says when.
  await platform.client.delete(sandboxClaims, { namespace: NAMESPACE, name: 'one' });
  await platform.until(async () => (await platform.sandboxes(NAMESPACE)).filter(isClaimed).length === 1);
  await platform.startController('claim-controller', env);
  await platform.until(async () => (await readRecords()).some(({ deletedMs }) => deletedMs !== undefined));
  await platform.until(async () => ((await readDay())?.asOfMs ?? 0) > before.asOfMs);
  const after = await readDay();
  if (after === undefined) throw new Error('no day');
  await expectSum(after);
  expect(after.usage[KEY]?.runMs).toBeGreaterThan(before.usage[KEY]?.runMs ?? 0);
});

it('the usage of a namespace is a metric, which goes on after a restart', async () => {
  const read = async (port: number): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^sandlot_usage_sandbox_seconds_total\{namespace="team-a"\} (\S+)$/m.exec(text)?.[1] ?? 0);
  };
  const first = await platform.startController('claim-controller', env);
  await platform.until(async () => (await read(first.metricsPort)) > 0);
  const before = await read(first.metricsPort);
  const second = await platform.startController('claim-controller', env);
  await platform.until(async () => (await read(second.metricsPort)) > 0);
  expect(await read(second.metricsPort)).toBeGreaterThanOrEqual(before);
});

function isClaimed({ metadata }: Awaited<ReturnType<Platform['sandboxes']>>[number]): boolean {
  return metadata.ownerReferences?.[0]?.kind === 'SandboxClaim';
}

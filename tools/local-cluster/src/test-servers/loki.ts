import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { findFreePort } from '../process/ports.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** A line of a stream, and when it was written, epoch milliseconds. */
export type StoredLine = readonly [ms: number, line: string];

const BASE_NS = 1_000_000n;

/** Starts a Loki with tenants, which dies with this process. A kill loses what it has not flushed. Throws ComponentError. */
export async function startLoki(): Promise<Server> {
  const bin = await ensureBinaries(['loki']);
  return startServer({
    name: 'loki',
    url: (port) => `http://127.0.0.1:${port}`,
    prepare: async ({ port, folder }) => {
      const file = join(folder, 'loki.yml');
      // The format is YAML, a superset of JSON.
      await writeFile(file, JSON.stringify(buildConfig({ port, grpcPort: await findFreePort(), folder })));
      return [bin('loki'), `-config.file=${file}`];
    },
    isReady: (port) => isReady(`http://127.0.0.1:${port}/ready`),
  });
}

/** Stores lines as an agent does. Rejects if Loki refuses them. */
export async function pushToLoki(
  { url }: Pick<Server, 'url'>,
  { tenant, labels }: { readonly tenant: string; readonly labels: Readonly<Record<string, string>> },
  lines: readonly StoredLine[],
): Promise<void> {
  const values = lines.map(([ms, line], index) => [String(BigInt(ms) * BASE_NS + BigInt(index)), line]);
  const response = await fetch(`${url}/loki/api/v1/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'X-Scope-OrgID': tenant },
    body: JSON.stringify({ streams: [{ stream: labels, values }] }),
  });
  if (!response.ok) throw new Error(`Loki answers ${response.status}: ${await response.text()}`);
}

function buildConfig({ port, grpcPort, folder }: { port: number; grpcPort: number; folder: string }): object {
  const listen = '127.0.0.1';
  const index = { prefix: 'index_', period: '168h' };
  return {
    auth_enabled: true,
    server: {
      http_listen_address: listen,
      http_listen_port: port,
      grpc_listen_address: listen,
      grpc_listen_port: grpcPort,
      log_level: 'warn',
    },
    ingester: {
      lifecycler: {
        address: listen,
        ring: { kvstore: { store: 'inmemory' }, replication_factor: 1 },
        min_ready_duration: '0s',
        final_sleep: '0s',
      },
    },
    schema_config: {
      configs: [{ from: '2020-01-01', store: 'boltdb', object_store: 'filesystem', schema: 'v11', index }],
    },
    storage_config: {
      boltdb: { directory: join(folder, 'index') },
      filesystem: { directory: join(folder, 'chunks') },
    },
    limits_config: {
      reject_old_samples: false,
      enforce_metric_name: false,
      ingestion_rate_mb: 100,
      ingestion_burst_size_mb: 100,
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  return fetch(url).then(
    async (response) => (await response.text()).startsWith('ready'),
    () => false,
  );
}

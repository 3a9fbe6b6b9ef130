import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { findFreePort } from '../process/ports.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

export interface PromtailOptions {
  /** `scrape_configs` as YAML. */
  readonly scrapeConfigs: string;
  readonly loki: Pick<Server, 'url'>;
  readonly tenant: string;
  /** Labels of every line. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Starts an agent that ships files to a Loki, which dies with this process. Throws ComponentError. */
export async function startPromtail(options: PromtailOptions): Promise<Server> {
  const bin = await ensureBinaries(['promtail']);
  return startServer({
    name: 'promtail',
    url: (port) => `http://127.0.0.1:${port}`,
    prepare: async ({ port, folder }) => {
      const file = join(folder, 'promtail.yml');
      await writeFile(file, formatConfig(options, { port, grpcPort: await findFreePort(), folder }));
      return [bin('promtail'), `-config.file=${file}`];
    },
    // Its own `/ready` waits for files.
    isReady: (port) =>
      fetch(`http://127.0.0.1:${port}/metrics`).then(
        ({ ok }) => ok,
        () => false,
      ),
  });
}

function formatConfig(
  { scrapeConfigs, loki, tenant, labels }: PromtailOptions,
  { port, grpcPort, folder }: { port: number; grpcPort: number; folder: string },
): string {
  const listen = '127.0.0.1';
  const own = {
    server: {
      http_listen_address: listen,
      http_listen_port: port,
      grpc_listen_address: listen,
      grpc_listen_port: grpcPort,
      log_level: 'warn',
    },
    positions: { filename: join(folder, 'positions.yml') },
    target_config: { sync_period: '1s' },
    clients: [{ url: `${loki.url}/loki/api/v1/push`, tenant_id: tenant, external_labels: labels, batchwait: '100ms' }],
  };
  return [...Object.entries(own).map(([name, value]) => `${name}: ${JSON.stringify(value)}`), scrapeConfigs].join('\n');
}

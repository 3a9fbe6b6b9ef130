import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { freePort } from '../process/ports.ts';
import type { TailSampling } from '../trace-backend.ts';
import { traceBackendConfig } from '../trace-backend.ts';
import { firstReply } from './line-protocol.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** A Jaeger of one test. `url` and `port` are those of its queries. Its traces are gone when it is killed. */
export interface TraceBackend extends Server {
  /** What OTEL_EXPORTER_OTLP_ENDPOINT is set to: `/v1/traces` is appended by exporters. */
  readonly otlpEndpoint: string;
}

/** What is kept. */
export interface TraceBackendOptions {
  /** Default 20,000. */
  maxTraces?: number | undefined;
  /** Absent: every trace is kept. */
  tailSampling?: TailSampling | undefined;
}

const defaultMaxTraces = 20_000;

/** Starts a Jaeger that takes OTLP over HTTP and dies with this process. Throws ComponentError. */
export async function startTraceBackend(options: TraceBackendOptions = {}): Promise<TraceBackend> {
  const bin = await ensureBinaries(['jaeger']);
  let otlpPort = 0;
  const server = await startServer({
    name: 'jaeger',
    url: (port) => `http://127.0.0.1:${port}`,
    prepare: async ({ port, folder }) => {
      otlpPort = await freePort();
      const config = traceBackendConfig({
        listen: { otlpHttp: `127.0.0.1:${otlpPort}`, query: `127.0.0.1:${port}` },
        maxTraces: options.maxTraces ?? defaultMaxTraces,
        tailSampling: options.tailSampling,
      });
      const file = join(folder, 'jaeger.json');
      await writeFile(file, JSON.stringify(config));
      return [bin('jaeger'), '--config', `file:${file}`];
    },
    // What answers queries starts first, what receives last.
    isReady: async () => (await firstReply(otlpPort, 'GET / HTTP/1.0\r\n\r\n')).startsWith('HTTP/1.'),
  });
  return Object.assign(server, { otlpEndpoint: `http://127.0.0.1:${otlpPort}` });
}

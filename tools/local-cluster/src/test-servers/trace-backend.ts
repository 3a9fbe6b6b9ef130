import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { findFreePort } from '../process/ports.ts';
import type { TailSampling } from '../trace-backend.ts';
import { traceBackendConfig } from '../trace-backend.ts';
import { readFirstReply } from './line-protocol.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** A Jaeger for one test. `url` and `port` belong to its query API. A kill loses its traces. */
export interface TraceBackend extends Server {
  /** Value for OTEL_EXPORTER_OTLP_ENDPOINT. Exporters append `/v1/traces`. */
  readonly otlpEndpoint: string;
}

/** Which traces Jaeger keeps. */
export interface TraceBackendOptions {
  /** Default 20,000. */
  maxTraces?: number | undefined;
  /** Without it Jaeger keeps every trace. */
  tailSampling?: TailSampling | undefined;
}

const defaultMaxTraces = 20_000;

/** Starts a Jaeger that receives OTLP over HTTP and dies with this process. Throws ComponentError. */
export async function startTraceBackend(options: TraceBackendOptions = {}): Promise<TraceBackend> {
  const bin = await ensureBinaries(['jaeger']);
  let otlpPort = 0;
  const server = await startServer({
    name: 'jaeger',
    url: (port) => `http://127.0.0.1:${port}`,
    prepare: async ({ port, folder }) => {
      otlpPort = await findFreePort();
      const config = traceBackendConfig({
        listen: { otlpHttp: `127.0.0.1:${otlpPort}`, query: `127.0.0.1:${port}` },
        maxTraces: options.maxTraces ?? defaultMaxTraces,
        tailSampling: options.tailSampling,
      });
      const file = join(folder, 'jaeger.json');
      await writeFile(file, JSON.stringify(config));
      return [bin('jaeger'), '--config', `file:${file}`];
    },
    // Jaeger starts its query API first and its receiver last.
    isReady: async () => (await readFirstReply(otlpPort, 'GET / HTTP/1.0\r\n\r\n')).startsWith('HTTP/1.'),
  });
  return Object.assign(server, { otlpEndpoint: `http://127.0.0.1:${otlpPort}` });
}

import type { HttpListener, ListenOptions } from './http-listener.ts';
import { listen } from './http-listener.ts';

export interface ProbeOptions extends ListenOptions {
  /** Whether the process works at all; on false the kubelet restarts it. */
  readonly isLive: () => boolean;
  /** Whether the process can do its work; never depends on NATS, Redis or telemetry. */
  readonly isReady: () => boolean;
  /** What a reader of `/readyz` should know besides, a line each. They do not change its status. Default: nothing. */
  readonly listRemarks?: (() => readonly string[]) | undefined;
}

/** Serves `/livez`, its old name `/healthz`, and `/readyz`: 200 `ok` or 503 `not ok`. A check that throws is not ok. */
export function serveProbes(options: ProbeOptions): Promise<HttpListener> {
  const { port, host, isLive: live, isReady: ready, listRemarks = () => [] } = options;
  const checks: Readonly<Record<string, () => boolean>> = { '/livez': live, '/healthz': live, '/readyz': ready };
  return listen({ port, host }, (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const check = Object.hasOwn(checks, path) ? checks[path] : undefined;
    response.setHeader('Content-Type', 'text/plain; charset=utf-8');
    if (check === undefined) {
      response.writeHead(404).end('not found\n');
      return;
    }
    const ok = isPassing(check);
    const remarks = check === ready ? listRemarks().map((line) => `${line}\n`) : [];
    response.writeHead(ok ? 200 : 503).end([ok ? 'ok\n' : 'not ok\n', ...remarks].join(''));
  });
}

function isPassing(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

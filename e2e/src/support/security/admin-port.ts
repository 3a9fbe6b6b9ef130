import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ensureBinaries } from '@sandlot/local-cluster';
import { inject } from 'vitest';
import type { Reply } from './tenants.ts';

const ADMIN_PORT = 8082;

/** The admin port of the API, through a port-forward as operators use it. Disposing ends it. */
export interface AdminPort extends AsyncDisposable {
  call(request: string, key: string, body?: object): Promise<Reply>;
}

export async function openAdminPort(): Promise<AdminPort> {
  const kube = (await ensureBinaries(['kube']))('kube');
  const where = ['--kubeconfig', inject('kubeconfigPath'), '--namespace', inject('releaseNamespace')];
  const forward = spawn(kube, ['kubectl', ...where, 'port-forward', 'deployment/sandlot-api', `:${ADMIN_PORT}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { value: line = '' } = (await createInterface({ input: forward.stdout })[Symbol.asyncIterator]().next()) as {
    value?: string;
  };
  const [, port] = /127\.0\.0\.1:(\d+) ->/.exec(line) ?? [];
  if (port === undefined) throw new Error(`kubectl forwards no port to the API, but says "${line}"`);
  return {
    call: async (request, key, body) => {
      const [method = 'GET', path = '/'] = request.split(' ');
      const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...sent });
      return { status: answer.status, body: await answer.text() };
    },
    [Symbol.asyncDispose]: async () => {
      const gone = once(forward, 'close');
      forward.kill();
      await gone;
    },
  };
}

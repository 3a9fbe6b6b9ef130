import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { LocalClusterError } from './errors.ts';

/** Just enough of an API client to start a cluster: everything else uses kubectl or libs/kube. */
export interface ApiClient {
  /** Resolves with the response's status and body; status 0 means that no response came. */
  call(method: 'GET' | 'PATCH' | 'POST', path: string, body?: string): Promise<{ status: number; body: string }>;
}

const timeoutMs = 10_000;

/** Creates a client that authenticates with a certificate from `pkiDir`. */
export async function createApiClient(options: {
  /** Such as https://127.0.0.1:16443. */
  server: string;
  pkiDir: string;
  certificate: string;
}): Promise<ApiClient> {
  const [ca, cert, key] = await Promise.all(
    ['ca.crt', `${options.certificate}.crt`, `${options.certificate}.key`].map((file) =>
      readFile(join(options.pkiDir, file)),
    ),
  );
  return {
    call: (method, path, body) =>
      new Promise((resolve) => {
        const headers = body === undefined ? {} : { 'content-type': 'application/apply-patch+yaml' };
        const target = { method, headers, ca, cert, key, timeout: timeoutMs };
        const call = request(new URL(path, options.server), target, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', () => resolve({ status: 0, body: '' }));
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
          );
        });
        call.on('timeout', () => call.destroy());
        call.on('error', (error) => resolve({ status: 0, body: error.message }));
        call.end(body);
      }),
  };
}

/** Creates or updates the object at this path by server-side apply. Throws LocalClusterError. */
export async function applyObject(api: ApiClient, path: string, object: object): Promise<void> {
  const answer = await api.call('PATCH', `${path}?fieldManager=local-cluster&force=true`, JSON.stringify(object));
  if (answer.status >= 300 || answer.status === 0) {
    throw new LocalClusterError(
      'COMMAND_FAILED',
      `creating ${path} failed with status ${answer.status}: ${answer.body}`,
    );
  }
}

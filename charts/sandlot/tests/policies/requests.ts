import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';

/** What the API server answered. */
export interface Answer {
  readonly status: number;
  /** Message of the Status, for a refusal. */
  readonly message: string;
  /** Warnings in the headers. */
  readonly warnings: string;
  readonly body: unknown;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly body?: object;
  /** Username to impersonate; the administrator without one. */
  readonly as?: string | undefined;
}

export type Send = (call: Call) => Promise<Answer>;

interface Kubeconfig {
  readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly users: readonly { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

/** Returns a function that sends requests as the kubeconfig's user, who may impersonate others. */
export async function openRequests(kubeconfigPath: string): Promise<Send> {
  const config = parse(await readFile(kubeconfigPath, 'utf8')) as Kubeconfig;
  const [{ cluster } = fail(), { user } = fail()] = [config.clusters[0], config.users[0]];
  const decode = (data: string): Buffer => Buffer.from(data, 'base64');
  const agent = new Agent({
    keepAlive: true,
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  });
  return (call) => send(agent, cluster.server, call);
}

function fail(): never {
  throw new Error('the kubeconfig has no cluster or no user');
}

function send(agent: Agent, server: string, { method, path, body, as }: Call): Promise<Answer> {
  const headers = {
    accept: 'application/json',
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    ...(as === undefined ? {} : { 'impersonate-user': as }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, server), { agent, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const answer: unknown = JSON.parse(Buffer.concat(chunks).toString());
        const { message = '' } = answer as { message?: string };
        const warnings = response.headers['warning'] ?? '';
        resolve({ status: response.statusCode ?? 0, message, warnings, body: answer });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

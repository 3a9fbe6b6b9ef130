import { once } from 'node:events';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { loadCredentials } from '@sandlot/kube';
import type { Credentials } from '@sandlot/kube';
import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';

/** A request to the API server. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly body?: object;
}

/** What the API server answered; `message` is that of its Status, for a refusal. */
export interface Answer {
  readonly status: number;
  readonly message: string;
}

/** A ServiceAccount with rights in one namespace, and its token. */
export interface Account extends AsyncDisposable {
  /** Value of the header Authorization. */
  readonly bearer: string;
  /** Sends a request with the token, and no other credentials. */
  send(call: Call): Promise<Answer>;
}

/** Creates an account with a ClusterRole in one namespace. Disposing removes it. */
export async function openAccount(namespace: string, name: string, role: string): Promise<Account> {
  const inNamespace = ['--namespace', namespace];
  await runKubectlOrFail([...inNamespace, 'create', 'serviceaccount', name]);
  const who = `--serviceaccount=${namespace}:${name}`;
  await runKubectlOrFail([...inNamespace, 'create', 'rolebinding', name, `--clusterrole=${role}`, who]);
  const bearer = `Bearer ${await runKubectlOrFail([...inNamespace, 'create', 'token', name])}`;
  const { server, ca } = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  return {
    bearer,
    send: (call) => send({ server, ca }, bearer, call),
    [Symbol.asyncDispose]: async () => {
      await runKubectlOrFail([...inNamespace, 'delete', `serviceaccount/${name}`, `rolebinding/${name}`]);
    },
  };
}

/** The cluster administrator. Sends what a test has seen refused to an account: the API server answers, so the path is right. */
export async function openAdministrator(): Promise<Pick<Account, 'send'>> {
  const credentials = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  return { send: async (call) => send(credentials, await credentials.getAuthorization(), call) };
}

type Server = Pick<Credentials, 'server' | 'ca' | 'cert' | 'key'>;

async function send(
  { server, ca, cert, key }: Server,
  authorization: string | undefined,
  { method, path, body }: Call,
): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const authorized = authorization === undefined ? {} : { Authorization: authorization };
  const headers = { Accept: 'application/json', 'Content-Type': type, ...authorized };
  const sent = request(new URL(path, server), { agent: false, ca, cert, key, method, headers });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, message: readMessage(await text(answer)) };
}

function readMessage(body: string): string {
  const { message } = JSON.parse(body) as { readonly message?: string };
  return message ?? '';
}

import { createSandlotClient } from '@sandlot/client';
import type { SandlotClient } from '@sandlot/client';
import { AuthenticationError, Sandbox, SandboxError, SandboxNotFoundError } from 'e2b';
import { CliError } from '../errors.ts';
import type { Account } from './account.ts';
import { clean } from './print.ts';

/** How the SDK of E2B finds the installation. */
export interface Connection {
  readonly apiKey: string;
  readonly apiUrl: string;
  readonly domain?: string;
  readonly sandboxUrl?: string;
}

export function buildConnection({ apiKey, url, domain, sandboxUrl }: Account): Connection {
  return {
    apiKey,
    apiUrl: url,
    ...(domain === undefined ? {} : { domain }),
    ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
  };
}

/** For what the SDK has no method. */
export function openApi({ url, apiKey }: Account): SandlotClient {
  return createSandlotClient({ baseUrl: url, apiKey });
}

/** Connects to a sandbox, which wakes if it sleeps, and does not change when it ends. */
export async function connect(account: Account, id: string): Promise<Sandbox> {
  return explain(async () => Sandbox.connect(id, buildConnection(account)), id);
}

/** Turns what the SDK throws into a message with the next step. */
export async function explain<T>(call: () => Promise<T>, id?: string): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw translate(error, id);
  }
}

function translate(error: unknown, id: string | undefined): unknown {
  if (error instanceof CliError) return error;
  if (error instanceof AuthenticationError)
    return new CliError(
      `the API refuses the key: ${clean(error.message)}`,
      'Run sandlot login with a key that is valid.',
    );
  if (error instanceof SandboxNotFoundError && id !== undefined)
    return new CliError(`there is no sandbox ${id}`, 'sandlot list shows yours.');
  if (error instanceof SandboxError)
    return new CliError(clean(error.message), 'sandlot list shows the state of your sandboxes.');
  const message = error instanceof Error ? error.message : String(error);
  const isUnreachable = message.includes('fetch failed') || message.includes('ECONNREFUSED');
  return isUnreachable ? new CliError('the API cannot be reached', 'Check the URL of sandlot login.') : error;
}

/** The data of an answer of the API. Throws CliError for any other answer. */
export function unwrap<T>(answer: { readonly data?: T; readonly error?: unknown; readonly response: Response }): T {
  if (answer.data !== undefined) return answer.data;
  const { error, response } = answer;
  const isMessage = typeof error === 'object' && error !== null && 'message' in error;
  const message = isMessage ? clean(String(error.message)) : `status ${response.status}`;
  throw new CliError(
    `the API answered ${response.status}: ${message}`,
    response.status === 401 ? 'Run sandlot login with a key that is valid.' : 'sandlot list shows your sandboxes.',
  );
}

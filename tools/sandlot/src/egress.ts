import { parseArgs } from 'node:util';
import { z } from 'zod';
import { CliError } from './errors.ts';
import type { Terminal } from './events.ts';
import { formatTable } from './table.ts';

export const egressHelp = `  sandlot egress CLAIM [--namespace NAME] [-o json]
      shows which destinations the egress proxy refused to the sandboxes of a claim, or to the sandbox with this id

  --url URL          the API (default: E2B_API_URL); the key comes from E2B_API_KEY
  --namespace NAME   with a key of the role admin: another namespace than its own
`;

const options = {
  namespace: { type: 'string', short: 'n' },
  url: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
} as const;

const report = z.object({
  refusals: z.array(
    z.object({
      protocol: z.string(),
      host: z.string(),
      port: z.number().optional(),
      reason: z.string(),
      count: z.number(),
      last: z.string(),
    }),
  ),
  complete: z.boolean(),
});
type Report = z.output<typeof report>;
const failure = z.object({ message: z.string() });

/** Runs `sandlot egress`. Resolves with the exit code. Throws CliError. */
export async function runEgressCommand(
  args: readonly string[],
  { out, env, signal }: Pick<Terminal, 'out' | 'env' | 'signal'>,
): Promise<number> {
  const { values, positionals } = parseOptions(args);
  const [claim, ...rest] = positionals;
  if (claim === undefined || rest.length > 0) throw buildUsageError('egress takes the name of one claim');
  const [url, key] = [values.url ?? env['E2B_API_URL'], env['E2B_API_KEY']];
  if (url === undefined || key === undefined) {
    throw new CliError('the API is not known', 'Set E2B_API_URL, or give --url, and set E2B_API_KEY.');
  }
  const path = new URL(`/api/v1/claims/${encodeURIComponent(claim)}/egress`, url);
  if (values.namespace !== undefined) path.searchParams.set('namespace', values.namespace);
  const found = await read(path, { key, signal });
  out.write(values.output === 'json' ? `${JSON.stringify(found)}\n` : formatReport(found));
  return 0;
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw buildUsageError(error instanceof Error ? error.message : String(error));
  }
}

function buildUsageError(message: string): CliError {
  return new CliError(message, `usage:\n${egressHelp}`, 'Usage');
}

async function read(
  path: URL,
  { key, signal }: { readonly key: string; readonly signal: AbortSignal },
): Promise<Report> {
  const response = await fetch(path, { headers: { 'X-API-KEY': key }, signal }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`the API at ${path.origin} cannot be reached: ${reason}`, 'Check E2B_API_URL, or give --url.');
  });
  const body: unknown = await response.json().catch(() => undefined);
  const found = report.safeParse(body);
  if (response.ok && found.success) return found.data;
  const message = failure.safeParse(body).data?.message ?? 'the answer is not that of an API of Sandlot';
  throw new CliError(
    `the API answered ${response.status}: ${message}`,
    'Check the name of the claim, and E2B_API_KEY.',
  );
}

function formatReport({ refusals, complete }: Report): string {
  const note = complete ? '' : 'A replica of the proxy did not answer: counts may be too low.\n';
  if (refusals.length === 0) return `Nothing was refused.\n${note}`;
  const rows = refusals.map(({ protocol, host, port, reason, count, last }) => [
    last,
    String(count),
    port === undefined ? host : `${host}:${port}`,
    protocol,
    reason,
  ]);
  return `${formatTable([['LAST', 'COUNT', 'DESTINATION', 'PROTOCOL', 'REASON'], ...rows])}\n${note}`;
}

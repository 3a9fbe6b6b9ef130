import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createKubeClient, KubeError, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { CliError } from './errors.ts';
import type { Terminal } from './events.ts';
import { prepareForAgentSandbox } from './migrate/to-agent-sandbox/command.ts';
import { readCluster, readManifest } from './migrate/read.ts';
import { translateAll } from './migrate/translate.ts';
import { createObjects, formatManifests, formatReport } from './migrate/write.ts';

export const migrateHelp = `  sandlot migrate openkruise [--namespace NAME] [--file FILE ...] [--apply]
      prints what the objects of OpenKruise Agents are in Sandlot, as YAML, and on standard error what does not
      translate; --apply creates the objects and leaves those that exist alone
  sandlot migrate to-agent-sandbox [--namespace NAME] [--apply]
      shows what the objects need before the CRDs of agent-sandbox replace those of Sandlot, and what is lost;
      --apply makes the changes, while Sandlot runs or after
      exit code 3, of both: something is lost

  --kubeconfig FILE  default: KUBECONFIG, else the one of \`npm run up\`
`;

/** Exit code of a migration that loses a field. */
const LOSSES = 3;

const options = {
  namespace: { type: 'string', short: 'n' },
  file: { type: 'string', short: 'f', multiple: true },
  apply: { type: 'boolean', default: false },
  kubeconfig: { type: 'string' },
} as const;

type MigrateTerminal = Pick<Terminal, 'out' | 'env'> & { readonly err: Terminal['out'] };

/** Runs `sandlot migrate`. Resolves with the exit code. Throws CliError. */
export async function runMigrateCommand(args: readonly string[], terminal: MigrateTerminal): Promise<number> {
  const { values, positionals } = parseOptions(args);
  const subject = positionals.join(' ');
  if (subject === 'to-agent-sandbox') return (await returnToAgentSandbox(values, terminal)) ? LOSSES : 0;
  if (subject === 'openkruise') return (await comeFromOpenKruise(values, terminal)) ? LOSSES : 0;
  throw buildUsageError('migrate needs its subject: openkruise, or to-agent-sandbox');
}

type Values = ReturnType<typeof parseOptions>['values'];

/** Resolves with whether something is lost. */
async function comeFromOpenKruise(values: Values, { out, err, env }: MigrateTerminal): Promise<boolean> {
  const { file: files = [], apply, namespace, kubeconfig = env['KUBECONFIG'] } = values;
  await using cluster = files.length > 0 && !apply ? undefined : await openCluster(kubeconfig);
  const sources =
    files.length > 0
      ? (await Promise.all(files.map(readManifest))).flat()
      : await explain(() => readCluster(getClient(cluster), namespace));
  if (sources.length === 0) throw new CliError('there is no object of agents.kruise.io', 'Name files with --file.');
  const translated = translateAll(sources);
  err.write(`${formatReport(translated)}\n`);
  if (apply) {
    const lines = await explain(() => createObjects(getClient(cluster), translated));
    out.write(`${lines.join('\n')}\n`);
  } else {
    out.write(formatManifests(translated));
  }
  return translated.some(({ notes }) => notes.some(({ effect }) => effect === 'lost'));
}

/** Resolves with whether something is lost. */
async function returnToAgentSandbox(values: Values, { out, env }: MigrateTerminal): Promise<boolean> {
  const { file, apply, namespace, kubeconfig = env['KUBECONFIG'] } = values;
  if (file !== undefined) throw buildUsageError('to-agent-sandbox reads the cluster, and no --file');
  await using cluster = await openCluster(kubeconfig);
  return await explain(() => prepareForAgentSandbox(cluster.client, { namespace, apply, out }));
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw buildUsageError(error instanceof Error ? error.message : String(error));
  }
}

interface Cluster extends AsyncDisposable {
  readonly client: KubeClient;
}

async function openCluster(kubeconfig: string | undefined): Promise<Cluster> {
  const file = kubeconfig ?? join(import.meta.dirname, '../../../.sandlot/kubeconfig');
  if (!existsSync(file)) throw new CliError(`there is no kubeconfig ${file}`, 'Name one with --kubeconfig.');
  const client = createKubeClient({
    credentials: await loadCredentials({ kubeconfig: file }),
    userAgent: 'sandlot-cli',
  });
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

function getClient(cluster: Cluster | undefined): KubeClient {
  if (cluster === undefined) throw new Error('no cluster is open');
  return cluster.client;
}

async function explain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw new CliError(
      error.message,
      'The kubeconfig needs the right to list the objects, and with --apply to create and patch them.',
    );
  }
}

function buildUsageError(problem: string): CliError {
  return new CliError(problem, `usage:\n${migrateHelp}`, 'Usage');
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sandboxes } from '@sandlot/api-types';
import { createKubeClient, KubeError, loadCredentials, nodes } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { CliError } from './errors.ts';
import type { Terminal } from './events.ts';
import { hibernationsHelp, parseHibernationsArguments } from './hibernations/arguments.ts';
import type { HibernationsOptions } from './hibernations/arguments.ts';
import { listCandidates, needsRefresh } from './hibernations/candidates.ts';
import type { Candidate } from './hibernations/candidates.ts';
import { formatCandidates, formatOutcomes, formatProgress } from './hibernations/format.ts';
import { refreshAll } from './hibernations/refresh-all.ts';
import { watchSnapshots } from './hibernations/watch-snapshots.ts';
import type { Snapshots } from './hibernations/watch-snapshots.ts';

export { hibernationsHelp };

export interface HibernationsTerminal extends Pick<Terminal, 'out' | 'env' | 'signal'> {
  readonly err: Terminal['out'];
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
}

/** Runs `sandlot hibernations`. Resolves with the exit code. Throws CliError. */
export async function runHibernationsCommand(args: readonly string[], terminal: HibernationsTerminal): Promise<number> {
  const parsed = parseHibernationsArguments(args);
  const { env } = terminal;
  const file = parsed.kubeconfig ?? env['KUBECONFIG'] ?? join(import.meta.dirname, '../../../.sandlot/kubeconfig');
  if (!existsSync(file)) {
    const advice = 'Name one with --kubeconfig, or start a cluster with: npm run up';
    throw new CliError(`there is no kubeconfig ${file}`, advice);
  }
  const client = createKubeClient({
    credentials: await loadCredentials({ kubeconfig: file }),
    userAgent: 'sandlot-cli',
  });
  try {
    return await runWithClient(client, parsed, terminal);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const advice =
      'The kubeconfig needs the right to list Nodes, SandboxSnapshots and Sandboxes, and for a refresh those to patch Sandboxes and to update reservedkeys.sandlot.dev.';
    throw new CliError(error.message, advice);
  } finally {
    await client.close();
  }
}

/** The same with a client of the cluster. Rejects with a KubeError if the cluster cannot be read. */
export async function runWithClient(
  client: KubeClient,
  parsed: HibernationsOptions,
  terminal: HibernationsTerminal,
): Promise<number> {
  const watching = new AbortController();
  try {
    const { namespace, json } = parsed;
    const snapshots = await watchSnapshots(client, { namespace, signal: watching.signal });
    const candidates = await readCandidates(client, { snapshots, ...parsed });
    if (parsed.command === 'refresh') return await refresh({ client, snapshots, candidates }, parsed, terminal);
    terminal.out.write(`${json ? formatJson(candidates.map(simplify)) : formatCandidates(candidates)}\n`);
    return 0;
  } finally {
    watching.abort();
  }
}

interface Found {
  readonly client: KubeClient;
  readonly snapshots: Snapshots;
  readonly candidates: readonly Candidate[];
}

async function refresh(
  { client, snapshots, candidates }: Found,
  { all, concurrency, limitMs, json }: HibernationsOptions,
  { out, err, clock, signal }: HibernationsTerminal,
): Promise<number> {
  const tell = (outcome: Parameters<typeof formatProgress>[0]): void => void err.write(`${formatProgress(outcome)}\n`);
  const wanted = candidates.filter((each) => needsRefresh(each, all));
  const outcomes = await refreshAll({ client, clock, snapshots, limitMs, signal, concurrency, tell }, wanted);
  out.write(`${json ? formatJson(outcomes) : formatOutcomes(outcomes)}\n`);
  return outcomes.some(({ problem }) => problem !== undefined) ? 1 : 0;
}

async function readCandidates(
  client: KubeClient,
  { snapshots, namespace, node }: Pick<HibernationsOptions, 'namespace' | 'node'> & { readonly snapshots: Snapshots },
): Promise<Candidate[]> {
  const where = namespace === undefined ? {} : { namespace };
  const [boxes, machines] = await Promise.all([client.listAll(sandboxes, where), client.listAll(nodes)]);
  if (node !== undefined && !machines.items.some(({ metadata }) => metadata.name === node)) {
    throw new CliError(
      `there is no node "${node}"`,
      'See them with: kubectl get nodes -L sandlot.dev/snapshot-fingerprint',
    );
  }
  const cluster = { sandboxes: boxes.items, snapshots: snapshots.listAll(), nodes: machines.items };
  return listCandidates(cluster, node);
}

function simplify({ sandbox: { metadata }, snapshot, outlook, obstacle }: Candidate): object {
  const { namespace, name } = metadata;
  return { namespace, name, snapshot: snapshot?.metadata.name, node: snapshot?.status?.nodeName, outlook, obstacle };
}

const formatJson = (rows: readonly object[]): string => JSON.stringify(rows);

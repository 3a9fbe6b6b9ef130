import type { KubeClient } from '@sandlot/kube';
import { CliError } from '../../errors.ts';
import { applyAll, readOwn } from './apply.ts';
import { prepareAll } from './prepare.ts';
import type { Prepared } from './prepared.ts';
import { formatCounts, formatNote } from '../write.ts';

export interface ReturnOptions {
  readonly namespace: string | undefined;
  readonly apply: boolean;
  readonly out: { write(text: string): unknown };
}

/**
 * Shows, or with `apply` makes, the changes that the objects need before the CRDs of agent-sandbox replace those of Sandlot. Resolves
 * with whether something is lost. Throws CliError, or a KubeError.
 */
export async function prepareForAgentSandbox(client: KubeClient, options: ReturnOptions): Promise<boolean> {
  const prepared = prepareAll(await readOwn(client, options.namespace));
  options.out.write(`${formatPrepared(prepared)}\n`);
  if (options.apply) {
    const { lines, missed } = await applyAll(client, prepared);
    options.out.write(lines.map((line) => `${line}\n`).join(''));
    if (missed > 0) throw new CliError(`${missed} objects were edited meanwhile`, 'Run the command again.');
  }
  return prepared.some(({ notes }) => notes.some(({ effect }) => effect === 'lost'));
}

function formatPrepared(prepared: readonly Prepared[]): string {
  const parts = prepared.map(({ from, patch, pool, notes }) => {
    const changes = patch === undefined ? [] : [`  change   ${JSON.stringify(patch['spec'])}`];
    const made =
      pool === undefined ? [] : [`  create   SandboxWarmPool ${pool.namespace}/${pool.name}, without members`];
    return [from, ...changes, ...made, ...notes.map(formatNote)].join('\n');
  });
  const patches = prepared.filter(({ patch }) => patch !== undefined).length;
  return [...parts, `${patches} to change; ${formatCounts(prepared)}`].join('\n');
}

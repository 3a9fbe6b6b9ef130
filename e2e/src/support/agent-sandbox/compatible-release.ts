import { runKubectlOrFail } from '../kubectl.ts';
import { helm, helmWithValues } from '../nodes/release.ts';
import { install, readCurrent, uninstall } from '../releases/helm.ts';
import type { Team } from '../team.ts';

const NAMESPACE = 'agent-sandbox-system';
const NAME = 'sandlot';
const WAIT = ['--wait', '--timeout', '8m'];

/**
 * Replaces the release by one with the names of agent-sandbox, as docs/reference/compatibility.md#compatibility-install says. Its
 * disposal brings the release of before back.
 */
export async function installCompatibly(team: Team): Promise<AsyncDisposable> {
  const current = await readCurrent();
  await uninstall();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => install(current, team, ['--take-ownership']));
  stack.defer(async () => {
    await helm(['uninstall', NAME, ...WAIT, '--ignore-not-found'], NAMESPACE);
    await runKubectlOrFail(['delete', 'namespace', NAMESPACE, '--ignore-not-found']);
  });
  const values = [current.values, JSON.stringify({ controller: { agentSandboxNames: true } })];
  const command = ['install', NAME, current.chart, '--create-namespace', '--take-ownership', ...WAIT];
  await helmWithValues(command, values, NAMESPACE);
  const made = stack.move();
  return { [Symbol.asyncDispose]: () => made.disposeAsync() };
}

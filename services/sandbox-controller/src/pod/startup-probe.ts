import type { Container } from '@sandlot/kube/objects';
import { PROGRAM } from './runtime-delivery.ts';

/** Variables of a template for which the daemon runs commands before the Sandbox is Ready: docs/reference/runtime.md#start-and-ready-command. */
const COMMANDS = ['SANDLOT_START_COMMAND', 'SANDLOT_READY_COMMAND'];

/** The program waits up to 20 s, so that the Pod is Ready at once and a Sandbox that waits has one probe in 20 s. */
const ANSWER_SECONDS = 30;
/** The most that Kubernetes takes: after the last failure the kubelet would restart the container. */
const FAILURES = 2 ** 31 - 1;

/** A startup probe has an end, unlike one for readiness: a busy sandbox that was ready once stays so. */
export function buildStartupProbe(container: Container): Partial<Container> {
  if (!hasCommands(container)) return {};
  const exec = { command: [PROGRAM, 'ready'] };
  const startupProbe = { exec, periodSeconds: 1, timeoutSeconds: ANSWER_SECONDS, failureThreshold: FAILURES };
  return { startupProbe };
}

/** Why the daemon cannot hold the Pod back until its commands have run; undefined when it can. */
export function findProbeRefusal(container: Container): string | undefined {
  if (!hasCommands(container) || container['startupProbe'] === undefined) return undefined;
  return `runtime.inject takes no startupProbe beside ${COMMANDS.join(' and ')}; container "${container.name}" has one`;
}

function hasCommands({ env = [] }: Container): boolean {
  return COMMANDS.some((command) => {
    const given = env.findLast(({ name }) => name === command);
    return given !== undefined && given.value !== '';
  });
}

import type { Target } from '../target.ts';
import type { PodTrouble } from './workloads.ts';

const LOG_LINES = 12;
const SHOWN_PODS = 3;

interface EventJson {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Describes pods that do not work: the reason, warnings from events, and the end of the log. */
export async function describeTroubles(
  target: Target,
  troubles: readonly PodTrouble[],
  namespace: string,
): Promise<string> {
  if (troubles.length === 0) return listPods(target, namespace);
  const parts = await Promise.all(
    troubles.slice(0, SHOWN_PODS).map((trouble) => describeOne(target, trouble, namespace)),
  );
  return parts.join('\n\n');
}

async function listPods(target: Target, namespace: string): Promise<string> {
  return (await target.kubectl(['-n', namespace, 'get', 'pods', '-o', 'wide'])).stdout;
}

async function describeOne(target: Target, { pod, reason, message }: PodTrouble, namespace: string): Promise<string> {
  const [warnings, log] = await Promise.all([readWarnings(target, pod, namespace), readLog(target, pod, namespace)]);
  const lines = [`pod ${pod}: ${reason}`, message, ...warnings.map((warning) => `event: ${warning}`)];
  return [...lines, log === '' ? '' : `log of ${pod}:\n${log}`].filter((line) => line.trim() !== '').join('\n');
}

async function readWarnings(target: Target, pod: string, namespace: string): Promise<readonly string[]> {
  const selector = `involvedObject.name=${pod},type=Warning`;
  const { stdout, code } = await target.kubectl([
    '-n',
    namespace,
    'get',
    'events',
    '--field-selector',
    selector,
    '-o',
    'json',
  ]);
  if (code !== 0) return [];
  const { items } = JSON.parse(stdout) as { items: readonly EventJson[] };
  const texts = items.map(({ reason = '', message = '' }) => `${reason} ${message}`);
  // The pod's message already has the kubelet's reason for a failed pull.
  return [...new Set(texts)]
    .filter((text) => !/^Failed .*(?:ErrImagePull|ImagePullBackOff|pull image)/.test(text))
    .slice(-4);
}

async function readLog(target: Target, pod: string, namespace: string): Promise<string> {
  const args = ['-n', namespace, 'logs', pod, `--tail=${LOG_LINES}`];
  const previous = await target.kubectl([...args, '--previous']);
  const { stdout, code } = previous.code === 0 && previous.stdout !== '' ? previous : await target.kubectl(args);
  return code === 0 ? stdout.trim() : '';
}

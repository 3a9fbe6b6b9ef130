import type { ContainerStatus, Pod } from '@sandlot/kube/objects';
import { formatWarning } from '../plan/steps.ts';
import type { Trouble } from '../plan/steps.ts';

/** For how long the end of a container is reported, also by a controller that starts later. */
const NEWS_MS = 600_000;

interface NamedStatus {
  readonly noun: string;
  readonly status: ContainerStatus;
}

function listStatuses({ status: { initContainerStatuses = [], containerStatuses = [] } = {} }: Pod): NamedStatus[] {
  return [
    ...initContainerStatuses.map((status) => ({ noun: 'Init container', status })),
    ...containerStatuses.map((status) => ({ noun: 'Container', status })),
  ];
}

const formatName = ({ noun, status: { name, image = '' } }: NamedStatus): string =>
  `${noun} "${name}"${image === '' ? '' : ` (image "${image}")`}`;

/** Reasons of kubelets for a container that waits, and what helps. Other reasons are steps of an ordinary start. */
const WAITING: readonly (readonly [reasons: RegExp, reason: string, advice: string])[] = [
  [
    /^(ErrImage\w*|Image\w*|InvalidImageName|RegistryUnavailable|SignatureValidationFailed)$/,
    'ImagePullFailed',
    'Check the name and tag of the image, its registry, and imagePullSecrets of the Pod template',
  ],
  [
    /^CreateContainer\w*Error$/,
    'ContainerConfigInvalid',
    'Check the ConfigMaps, Secrets and security settings that the Pod template refers to',
  ],
  [
    /^(RunContainerError|StartError|PreStartHookError|PostStartHookError|ContainerCannotRun|CrashLoopBackOff)$/,
    'ContainerNotStarting',
    'Check its command, and what it logged: kubectl logs --previous',
  ],
];

/** Why containers of a Pod that stays do not start, and which of them the kubelet had to restart. */
export function listContainerTroubles(pod: Pod, nowMs: number): Trouble[] {
  return listStatuses(pod).flatMap((container) => [
    ...listWaitingTroubles(pod, container),
    ...restartTroubles(pod, { ...container, nowMs }),
  ]);
}

/** One per container and kind of trouble: kubelets alternate between a failure and its back-off. */
function listWaitingTroubles({ metadata: { uid } }: Pod, container: NamedStatus): Trouble[] {
  const { reason = '', message } = container.status.state?.waiting ?? {};
  const known = WAITING.find(([reasons]) => reasons.test(reason));
  const isReportedAsRestart = reason === 'CrashLoopBackOff' && container.status.lastState?.terminated !== undefined;
  if (known === undefined || isReportedAsRestart) return [];
  const [, kind, advice] = known;
  const detail = [reason, message].filter((text) => text !== undefined && text !== '').join(': ');
  const note = formatWarning(kind, `${formatName(container)} does not start: ${detail}. ${advice}`);
  return [{ key: `${uid ?? ''}/${container.status.name}/${kind}`, note }];
}

/** A container that ended and that the kubelet restarts in its Pod. Reported once per end. */
function restartTroubles({ metadata }: Pod, container: NamedStatus & { readonly nowMs: number }): Trouble[] {
  const { name, restartCount = 0, lastState } = container.status;
  const { reason = 'Error', exitCode = 0, finishedAt = '' } = { ...lastState?.terminated };
  const isNews = container.nowMs - Date.parse(finishedAt) < NEWS_MS;
  if (restartCount === 0 || !isNews) return [];
  const advice =
    reason === 'OOMKilled' ? 'Raise its memory limit, or have it use less' : 'What it logged: kubectl logs --previous';
  const text = `${formatName(container)} ended (${reason}, exit code ${exitCode}) and is started again in its Pod. ${advice}`;
  const key = `${metadata.uid ?? ''}/${name}/restart/${restartCount}`;
  return [{ key, note: formatWarning('ContainerRestarted', text), isPast: true }];
}

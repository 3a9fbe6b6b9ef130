import type { Sandbox, SandboxSpec } from '@sandlot/api-types';
import type { Container, PodSpec } from '@sandlot/kube';

/** How a Sandbox differs from the default: one busybox container that runs until it is ended, and stops within a second. */
export interface BoxChoices {
  /** A shell command that runs as process 1. */
  readonly run?: string;
  /** The StorageClass of a disk at /data; `default`: the cluster's own; undefined: no disk. */
  readonly disk?: string;
  readonly container?: Partial<Container>;
  readonly pod?: Partial<PodSpec>;
  readonly labels?: Record<string, string>;
  readonly spec?: Partial<SandboxSpec>;
}

/** Ends on SIGTERM, or with the code in the file /tmp/end. Without a TERM handler the end would take the whole grace period. */
export const RUNS_UNTIL_ENDED = `trap 'exit 0' TERM; until [ -e /tmp/end ]; do sleep 0.1; done; exit $(cat /tmp/end)`;

/** As {@link RUNS_UNTIL_ENDED}, but ignores SIGTERM: its Pod stays Terminating until a test writes the file. */
export const IGNORES_TERM = `trap '' TERM; until [ -e /tmp/end ]; do sleep 0.1; done`;

/** The shell command that ends such a container. */
export const endWith = (code: number): string => `echo ${code} > /tmp/code && mv /tmp/code /tmp/end`;

/** Uses more memory than {@link SMALL_MEMORY} allows, as process 1. */
export const EATS_MEMORY = 'exec dd if=/dev/zero of=/dev/null bs=256M count=1';

export const SMALL_MEMORY: Partial<Container> = { resources: { limits: { memory: '32Mi' } } };

/** The name of the disk of a Sandbox. */
export const formatDisk = (name: string): string => `work-${name}`;

/** Builds a Sandbox with one container. */
export function box(namespace: string, name: string, choices: BoxChoices = {}): Sandbox {
  const { run = RUNS_UNTIL_ENDED, disk, labels } = choices;
  const container: Container = {
    name: 'box',
    image: 'busybox',
    command: ['sh', '-c', run],
    ...(disk === undefined ? {} : { volumeMounts: [{ name: 'work', mountPath: '/data' }] }),
    ...choices.container,
  };
  return {
    metadata: { name, namespace },
    spec: {
      service: true,
      podTemplate: {
        ...(labels === undefined ? {} : { metadata: { labels } }),
        spec: { terminationGracePeriodSeconds: 10, restartPolicy: 'Never', containers: [container], ...choices.pod },
      },
      ...(disk === undefined ? {} : { volumeClaimTemplates: [buildWorkDisk(disk)] }),
      ...choices.spec,
    },
  };
}

function buildWorkDisk(storageClass: string) {
  return {
    metadata: { name: 'work' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '10Mi' } },
      ...(storageClass === 'default' ? {} : { storageClassName: storageClass }),
    },
  };
}

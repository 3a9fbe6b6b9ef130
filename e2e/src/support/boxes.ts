import type { Sandbox, SandboxSpec } from '@sandlot/api-types';
import type { Container, PodSpec } from '@sandlot/kube';

/** What differs from a Sandbox of one busybox container that never ends and goes within a second when told to. */
export interface BoxChoices {
  /** Shell command; it runs as process 1. */
  readonly run?: string;
  /** Class of a disk at /data; `default` for the cluster's own. Without it there is no disk. */
  readonly disk?: string;
  readonly container?: Partial<Container>;
  readonly pod?: Partial<PodSpec>;
  readonly labels?: Record<string, string>;
  readonly spec?: Partial<SandboxSpec>;
}

/** Ends when told to and when the file /tmp/end appears, with the code it holds; a missing TERM handler would take the whole grace. */
export const RUNS_UNTIL_ENDED = `trap 'exit 0' TERM; until [ -e /tmp/end ]; do sleep 0.1; done; exit $(cat /tmp/end)`;

/** As {@link RUNS_UNTIL_TOLD}, deaf to the kubelet: its Pod stays Terminating until somebody writes the file. */
export const IGNORES_TERM = `trap '' TERM; until [ -e /tmp/end ]; do sleep 0.1; done`;

/** Shell command that ends a container of the above. */
export const endWith = (code: number): string => `echo ${code} > /tmp/code && mv /tmp/code /tmp/end`;

/** Takes more memory than {@link SMALL_MEMORY} allows, as process 1. */
export const EATS_MEMORY = 'exec dd if=/dev/zero of=/dev/null bs=256M count=1';

export const SMALL_MEMORY: Partial<Container> = { resources: { limits: { memory: '32Mi' } } };

/** The disk of a Sandbox made here. */
export const diskOf = (name: string): string => `work-${name}`;

/** A Sandbox of one container; its namespace is the caller's. */
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
      ...(disk === undefined ? {} : { volumeClaimTemplates: [workDisk(disk)] }),
      ...choices.spec,
    },
  };
}

function workDisk(storageClass: string) {
  return {
    metadata: { name: 'work' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '10Mi' } },
      ...(storageClass === 'default' ? {} : { storageClassName: storageClass }),
    },
  };
}

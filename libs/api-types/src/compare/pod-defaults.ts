import type { Members } from './json.ts';

const probe = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const fileMode = { defaultMode: 420 };

const container: Members = {
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  stdin: false,
  stdinOnce: false,
  tty: false,
};

/**
 * The API server's defaults, by the member that holds them: `httpGet` is the object under that key, `containers` each entry
 * of that list. The empty name is the Pod spec itself.
 */
export const podDefaults: Readonly<Record<string, Members>> = {
  '': {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: 30,
    enableServiceLinks: true,
    preemptionPolicy: 'PreemptLowerPriority',
    hostNetwork: false,
    hostPID: false,
    hostIPC: false,
  },
  containers: container,
  initContainers: container,
  ephemeralContainers: container,
  ports: { protocol: 'TCP' },
  volumeMounts: { readOnly: false },
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  httpGet: { scheme: 'HTTP', path: '/' },
  fieldRef: { apiVersion: 'v1' },
  resourceFieldRef: { divisor: '0' },
  configMap: fileMode,
  secret: fileMode,
  downwardAPI: fileMode,
  projected: fileMode,
  serviceAccountToken: { expirationSeconds: 3600 },
  persistentVolumeClaim: { readOnly: false },
  tolerations: { operator: 'Equal' },
};

/** The API server's defaults for the spec of a PVC. */
export const claimDefaults: Readonly<Record<string, Members>> = { '': { volumeMode: 'Filesystem' } };

/** The default pull policy of a container: `Always` for the tag `latest` and for no tag. */
export function getDefaultPullPolicy(image: string): string {
  if (image.includes('@')) return 'IfNotPresent';
  const lastPart = image.slice(image.lastIndexOf('/') + 1);
  const tag = lastPart.split(':')[1] ?? 'latest';
  return tag === 'latest' ? 'Always' : 'IfNotPresent';
}

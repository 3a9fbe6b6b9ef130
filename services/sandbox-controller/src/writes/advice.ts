/** Words of API servers that reject a Pod or a disk, and what helps. */
const ADVICE: readonly (readonly [words: RegExp, advice: string])[] = [
  [
    /RuntimeClass "[^"]*" not found/,
    'Create that RuntimeClass, or change spec.podTemplate.spec.runtimeClassName of the Sandbox or its template',
  ],
  [/exceeded quota|must specify .* for:/, 'Raise the ResourceQuota of the namespace, free some of it, or ask for less'],
  [
    /violates PodSecurity/,
    'Change the Pod template, or the pod-security labels of the namespace if it may run such a Pod',
  ],
  [
    /serviceaccount "[^"]*" not found/i,
    'Create that ServiceAccount, or change spec.podTemplate.spec.serviceAccountName',
  ],
  [/no PriorityClass with name/, 'Create that PriorityClass, or change spec.podTemplate.spec.priorityClassName'],
  [
    /(minimum|maximum) .* usage per|limit to request ratio|per (Container|Pod|PersistentVolumeClaim) is/,
    'Ask for resources that the LimitRange of the namespace allows, or change it',
  ],
  [/QOS Class may not change/i, 'Ask for CPU that keeps the QoS class of the Pod, or change the template'],
  [/enough allocatable resources/, 'Ask for less, or use nodes that have it'],
  [/without support for resize/, 'Use nodes whose kubelet is Kubernetes 1.33 or newer'],
  [/admission webhook/, 'Change what the policy of the cluster objects to'],
];

/** `words` of the API server and what helps. The controller retries a rejected write by itself. */
export function withAdvice(words: string): string {
  const advice = ADVICE.find(([pattern]) => pattern.test(words))?.[1];
  return advice === undefined ? words : `${words}. ${advice}; it is tried again within a minute`;
}

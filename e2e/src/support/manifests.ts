/** The API group of claims, pools and templates. */
export const GROUP = 'extensions.agents.x-k8s.io';

/** A template with one container that sleeps and ends at once; `container` holds its other fields as YAML. */
export function formatTemplateManifest(name: string, container = 'image: busybox'): string {
  return `
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: ${name}}
spec:
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: box, command: [sleep, infinity]${container === '' ? '' : `, ${container}`}}]
`;
}

export function formatPoolManifest(name: string, template: string, replicas: number): string {
  return `
apiVersion: ${GROUP}/v1beta1
kind: SandboxWarmPool
metadata: {name: ${name}}
spec: {replicas: ${replicas}, sandboxTemplateRef: {name: ${template}}}
`;
}

/** A claim with this spec, as YAML. */
export function claimManifest(name: string, spec: string, version = 'v1beta1'): string {
  return `
apiVersion: ${GROUP}/${version}
kind: SandboxClaim
metadata: {name: ${name}}
spec: ${spec}
`;
}

import type { labels } from '../../src/index.ts';
import { CLAIM, SANDBOX, POOL, API, SNAPSHOT, RESTORE } from './uses.ts';
import type { Use } from './uses.ts';

export const labelUses: Readonly<Record<keyof typeof labels, Use>> = {
  nameHash: {
    on: 'Pod, Service, disk',
    by: SANDBOX,
    meaning: 'NameHash of the name of the Sandbox. The Service and `status.selector` select by it.',
  },
  warmPoolMember: {
    on: 'Sandbox, Pod',
    by: POOL,
    meaning: 'NameHash of the pool whose member it is. Adoption removes it.',
  },
  templateRefHash: {
    on: 'SandboxTemplate, Sandbox, Pod',
    by: `${POOL}, ${CLAIM}`,
    meaning: 'NameHash of the template. The NetworkPolicy of the template selects by it.',
  },
  templateHash: { on: 'Sandbox', by: POOL, meaning: 'Hash of the blueprint of a member. Adoption removes it.' },
  podTemplateHash: {
    on: 'Sandbox',
    by: POOL,
    meaning: 'Deprecated copy of `sandbox-template-hash`. Adoption removes it.',
  },
  launchType: { on: 'Sandbox', by: CLAIM, meaning: '`warm` for an adopted Sandbox, `cold` for a created one.' },
  createdBy: {
    on: 'SandboxClaim, Sandbox, Pod',
    by: 'the client',
    meaning:
      'Which client made the claim. On Pods and in metrics it is `go-client`, `python-client`, `controller` or `unknown`.',
  },
  claimUid: { on: 'Sandbox, Pod', by: CLAIM, meaning: 'UID of the claim.' },
  adoptable: {
    on: 'Pod, Service, disk',
    by: 'users',
    meaning: '`true` lets the Sandbox of that name take over an object without owner.',
  },
  claimName: {
    on: 'Sandbox, Pod',
    by: CLAIM,
    meaning: 'Name of a detached claim; a long one is cut, and the annotation of the same key has all of it.',
  },
  claimSlot: { on: 'Sandbox, Pod', by: CLAIM, meaning: 'Slot of a detached claim.' },
  warmPool: { on: 'Sandbox', by: CLAIM, meaning: 'NameHash of the pool it was adopted from.' },
  reservedFailed: {
    on: 'Sandbox, Pod',
    by: CLAIM,
    meaning:
      '`true`: its delivery failed and `reserveFailedSandbox` keeps it, until `spec.shutdownTime` if `reserveFailedSandboxFor` says how long.',
  },
  claimEnv: { on: 'Secret', by: 'users', meaning: '`true` lets claims of the namespace take values from it.' },
  egressCredential: {
    on: 'Secret',
    by: `${API}, users`,
    meaning: '`true` lets the egress proxy send its values, to the hosts of its annotation `sandlot.dev/egress-hosts`.',
  },
  tenant: {
    on: 'Secret, ConfigMap',
    by: API,
    meaning: 'The namespace whose clients created the secret, the webhook or the volume.',
  },
  vaultSecret: { on: 'Secret', by: API, meaning: 'The id of the secret.' },
  webhook: { on: 'Secret', by: API, meaning: 'Always `true`: the Secret is a webhook.' },
  claimableBy: {
    on: 'PersistentVolume',
    by: 'the cluster administrator',
    meaning: 'The namespace whose claims may mount it.',
  },
  sandboxId: {
    on: 'SandboxClaim, SandboxSnapshot, Secret',
    by: API,
    meaning: 'Id of a sandbox made through the API, which is the name of its claim. On a snapshot: what was saved.',
  },
  e2bSnapshot: {
    on: 'SandboxSnapshot',
    by: API,
    meaning: '`snapshot`: a client of the API asked for it. `fork`: it exists while forks are made from it.',
  },
  egress: {
    on: 'Sandbox, Pod',
    by: 'warmpool-controller, claim-controller',
    meaning: '`steered`: it asks the egress resolver for names.',
  },
  network: {
    on: 'Sandbox, Pod',
    by: CLAIM,
    meaning: '`own`: a NetworkPolicy of its own stands in place of that of the template.',
  },
  protects: {
    on: 'NetworkPolicy',
    by: POOL,
    meaning:
      'Whose Pods the policy is for: `template` for those of the template in its name, `authored-sandboxes` for those without one.',
  },
  apiKey: { on: 'Secret', by: `${API}, \`npx sandlot keys\``, meaning: 'The Secret holds an API key as a digest.' },
  restoreSnapshot: { on: 'Pod', by: SANDBOX, meaning: `${RESTORE} The snapshot-controller selects by it.` },
  memory: {
    on: 'Pod, PodDisruptionBudget',
    by: SANDBOX,
    meaning:
      '`protected`: evictions of the Pod wait until its memory is saved. `unsaved`: it could not be saved while its node [is being emptied](sandbox.md#drain), so they no longer wait.',
  },
  golden: {
    on: 'Sandbox, SandboxSnapshot',
    by: POOL,
    meaning:
      'NameHash of the template whose [golden snapshot](sandbox-template.md#golden-snapshot) it is, or is taken of it. No claim gets such a Sandbox, and no request reaches it.',
  },
  builtBy: {
    on: 'SandboxTemplate',
    by: 'template-builder',
    meaning: 'A build made the template: `template-build`. Builds change no other templates',
  },
  templateBuild: {
    on: 'SandboxTemplate; SandboxTemplate and SandboxClaim of a build that runs',
    by: 'template-builder',
    meaning: 'UID of the SandboxTemplateBuild',
  },
  templateId: {
    on: 'SandboxTemplate, SandboxTemplateBuild, SandboxClaim',
    by: `${API}, template-builder`,
    meaning: 'Id of the template for clients of E2B, which all its tags share.',
  },
  public: {
    on: 'SandboxTemplate',
    by: API,
    meaning:
      '`true`: clients of other namespaces may [start sandboxes](e2b-api.md#public-templates) of the template, with all its tags.',
  },
  registryCredentials: {
    on: 'Secret',
    by: `user, ${API}`,
    meaning: '`true`: builds of the namespace may use it as credentials for a registry',
  },
  snapshotFingerprint: {
    on: 'Node',
    by: SNAPSHOT,
    meaning: 'Hash of gVisor version, architecture and CPU: only nodes with the same value can restore a snapshot.',
  },
};

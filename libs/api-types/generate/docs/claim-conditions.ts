import { claimConditions, claimMessages, claimReasons } from '../../src/index.ts';
import { numberPlaceholders } from './condition-table.ts';
import type { ConditionRow } from './condition-table.ts';

const claimReady = { condition: claimConditions.ready, status: 'False' } as const;

/** The conditions of a SandboxClaim that are not copied from its Sandbox; those of Ready by precedence. */
export const claimRows: readonly ConditionRow[] = [
  {
    ...claimReady,
    reason: claimReasons.templateNotFound,
    messages: [claimMessages.templateNotFound('<name>')],
    when: 'The template does not exist. The controller goes on when it appears.',
  },
  {
    ...claimReady,
    reason: claimReasons.warmPoolNotFound,
    messages: [claimMessages.warmPoolNotFound('<name>')],
    when: 'The pool does not exist. The controller goes on when it appears.',
  },
  {
    ...claimReady,
    reason: claimReasons.adoptionConflict,
    messages: [claimMessages.adoptionConflict('<detail>')],
    when: 'Others changed every candidate the controller tried. It tries again.',
  },
  {
    ...claimReady,
    reason: claimReasons.sandboxCreatePending,
    messages: [claimMessages.sandboxCreatePending],
    when: 'The Sandbox was created a moment ago and the watch does not show it yet.',
  },
  {
    ...claimReady,
    reason: claimReasons.invalidMetadata,
    messages: [claimMessages.invalidMetadata('<detail>')],
    when: 'Final. See [Pod metadata](#pod-metadata).',
  },
  {
    ...claimReady,
    reason: claimReasons.envVarsInjectionRejected,
    messages: [claimMessages.envVarsInjectionRejected('<detail>')],
    when: 'Final. See [Environment](#environment).',
  },
  {
    ...claimReady,
    reason: claimReasons.volumeClaimTemplatesError,
    messages: [
      'failed to merge volume claim templates: <detail>',
      'invalid volume claim templates in template: <detail>',
    ],
    when: 'Final. See [Volumes](#volumes).',
  },
  {
    ...claimReady,
    reason: claimReasons.imageOverrideRejected,
    messages: [
      claimMessages.imageOverrideRejected('<image>', []),
      claimMessages.imageOverrideRejected('<image>', ['<prefix>']),
    ],
    when: 'Final. The image of `inplaceUpdate` is not among `imageOverridePolicy.allowedImages`.',
  },
  {
    ...claimReady,
    reason: claimReasons.resourcesOverrideRejected,
    messages: [claimMessages.resourcesOverrideRejected('<detail>')],
    when: 'Final. The template does not allow the CPU of `inplaceUpdate`, or no running Pod can get it. See [CPU](#cpu).',
  },
  {
    ...claimReady,
    reason: claimReasons.dynamicVolumesRejected,
    messages: ['<what is wrong, and who has to change it>'],
    when: 'Final for mistakes in claim or template; looked at again for PersistentVolumes. See [Volumes](#volumes).',
  },
  {
    ...claimReady,
    reason: claimReasons.sandboxNameRejected,
    messages: [claimMessages.sandboxNameRejected('<name>', '<template>', '<detail>')],
    when: 'Final. Only claims of an API key. See [Name of the Sandbox](#name-of-the-sandbox).',
  },
  {
    ...claimReady,
    reason: claimReasons.egressNotAvailable,
    messages: [
      claimMessages.egressNotAvailable('<what is missing, and who has to change it>'),
      claimMessages.egressRulesNotAvailable('<what is missing, and who has to change it>'),
    ],
    when: 'Final. The annotation `sandlot.dev/network` lists names, and the template has no egress proxy. See [Egress by name](sandbox-template.md#egress-by-name). Or it has `rules`, and the installation or the template has none for claims, or the template has a rule for the host. See [Inject a key](../network.md#inject-a-key).',
  },
  {
    ...claimReady,
    reason: claimReasons.egressSecretMissing,
    messages: [claimMessages.egressSecret('<which Secret, and what to do>')],
    when: 'A Secret that a rule names does not exist, or lacks the key. Looked at again every 10 s, until the claim has a Sandbox.',
  },
  {
    ...claimReady,
    reason: claimReasons.egressSecretNotMarked,
    messages: [claimMessages.egressSecret('<which Secret, and what to do>')],
    when: 'A Secret that a rule names is not [marked for the proxy](../network.md#inject-a-key). Looked at again every 10 s.',
  },
  {
    ...claimReady,
    reason: claimReasons.egressHostNotCovered,
    messages: [claimMessages.egressSecret('<which Secret, and what to do>')],
    when: 'A Secret that a rule names does not list the host of the rule. Looked at again every 10 s.',
  },
  {
    ...claimReady,
    reason: claimReasons.quotaExceeded,
    messages: [claimMessages.quotaExceeded(100).replace('100', '<n>')],
    when: 'The API key that made the claim has as many sandboxes as it may have. Looked at again every 5 s.',
  },
  {
    ...claimReady,
    reason: claimReasons.sandboxNameTaken,
    messages: [claimMessages.sandboxNameTaken('<name>', '<kind>')],
    when: 'The name in `sandboxName` belongs to another Sandbox or claim. The controller goes on when it is free.',
  },
  {
    ...claimReady,
    reason: claimReasons.waitingForStock,
    messages: [claimMessages.waitingForStock],
    when: 'The claim waits for a warm Sandbox.',
  },
  {
    ...claimReady,
    reason: claimReasons.networkPolicyPending,
    messages: [claimMessages.networkPolicyPending('<template>', '<detail>')],
    when: 'The claim needs a cold start and has waited a second for the [policy of its template](sandbox-template.md#network-policy). The controller goes on when it is in place.',
  },
  {
    ...claimReady,
    reason: claimReasons.claimTimeout,
    messages: [claimMessages.claimTimeout(1, 2).replace('1 of 2', '<n> of <m>')],
    when: 'Final. `claimTimeout` has passed.',
  },
  {
    ...claimReady,
    reason: claimReasons.sandboxInitFailed,
    messages: ['<error of the step that failed>'],
    when: 'The [delivery](#delivery) to a Sandbox failed; final after the last try.',
  },
  {
    ...claimReady,
    reason: claimReasons.claimExpired,
    messages: [claimMessages.claimExpired, claimMessages.claimExpiredNotOwned('<sandbox>', '<claim>')],
    when: 'The claim has expired.',
  },
  {
    ...claimReady,
    reason: claimReasons.sandboxMissing,
    messages: [claimMessages.sandboxMissing],
    when: 'Known to clients of agent-sandbox; not published today, as a bound claim looks for another Sandbox.',
  },
  {
    ...claimReady,
    reason: claimReasons.sandboxExpired,
    messages: [claimMessages.sandboxExpired],
    when: 'The Sandbox expired by a deadline of its own.',
  },
  {
    ...claimReady,
    reason: claimReasons.sandboxNotReady,
    messages: [claimMessages.sandboxNotReady],
    when: 'The Sandbox has no condition Ready yet, or the delivery is not complete.',
  },
  {
    ...claimReady,
    reason: claimReasons.invalidConfiguration,
    messages: [claimMessages.error('<error>')],
    when: 'The API server refuses the Sandbox, its Pod, a disk or its Service as invalid. Only an edit helps; clients give up.',
  },
  {
    ...claimReady,
    reason: claimReasons.reconcilerError,
    messages: [
      claimMessages.error('<error>'),
      claimMessages.error(claimMessages.notControlled('<sandbox>', '<claim>')),
      claimMessages.error(claimMessages.sandboxNameLeaving('<name>')),
    ],
    when: 'Something failed and is tried again; the second message where a Sandbox with the name of the claim is not its own.',
  },
  {
    condition: claimConditions.ready,
    status: 'True',
    reason: claimReasons.allReplicasClaimed,
    messages: [numberPlaceholders(claimMessages.allReplicasClaimed)],
    when: 'Detached claim: all slots are delivered and Ready.',
  },
  {
    ...claimReady,
    reason: claimReasons.claiming,
    messages: [
      claimMessages.claiming(1, 2).replace('1 of 2', '<n> of <m>'),
      claimMessages.notAllReady(1, 2).replace('Claimed 2', 'Claimed <m>').replace('1 of', '<n> of'),
    ],
    when: 'Detached claim: slots are missing, or some of the Sandboxes are not Ready.',
  },
  {
    condition: claimConditions.completed,
    status: 'True',
    reason: claimReasons.allReplicasClaimed,
    messages: [numberPlaceholders(claimMessages.allReplicasClaimed)],
    when: 'Detached claim: all slots are delivered.',
  },
  {
    condition: claimConditions.completed,
    status: 'True',
    reason: claimReasons.timeoutReached,
    messages: [claimMessages.claimTimeout(1, 2).replace('1 of 2', '<n> of <m>')],
    when: 'Detached claim: `claimTimeout` passed before that.',
  },
];

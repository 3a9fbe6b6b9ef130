import { sandboxConditions, sandboxMessages, sandboxReasons } from '../../src/index.ts';
import { numberPlaceholders } from './condition-table.ts';
import type { ConditionRow } from './condition-table.ts';

const { ready, suspended, podScheduled, finished } = sandboxConditions;

/** The conditions of a Sandbox. */
export const sandboxRows: readonly ConditionRow[] = [
  {
    condition: suspended,
    status: 'False',
    reason: sandboxReasons.notSuspended,
    messages: [sandboxMessages.notSuspended],
    when: 'The mode is Running.',
  },
  {
    condition: suspended,
    status: 'True',
    reason: sandboxReasons.podTerminated,
    messages: [sandboxMessages.podTerminated],
    when: 'The mode is Suspended and the Pod is gone.',
  },
  {
    condition: suspended,
    status: 'False',
    reason: sandboxReasons.podTerminating,
    messages: [sandboxMessages.podTerminating],
    when: 'The mode is Suspended and the Pod still exists.',
  },
  {
    condition: suspended,
    status: 'False',
    reason: sandboxReasons.podNotOwned,
    messages: [sandboxMessages.podNotOwned],
    when: 'The mode is Suspended and a Pod of that name has another owner.',
  },
  {
    condition: suspended,
    status: 'Unknown',
    reason: sandboxReasons.podStateUnknown,
    messages: [sandboxMessages.podStateUnknown],
    when: 'The mode is Suspended and the controller cannot tell whether a Pod exists.',
  },
  {
    condition: ready,
    status: 'True',
    reason: sandboxReasons.dependenciesReady,
    messages: [sandboxMessages.podReady, sandboxMessages.withService(sandboxMessages.podReady)],
    when: 'The Pod is Running and Ready and has an address, and the Service exists where one is needed.',
  },
  {
    condition: ready,
    status: 'False',
    reason: sandboxReasons.dependenciesNotReady,
    messages: [
      sandboxMessages.podMissing,
      sandboxMessages.podInPhase('<phase>'),
      sandboxMessages.podRunningNotReady,
      sandboxMessages.podWithoutIPs,
      sandboxMessages.withoutService('<one of these>'),
      sandboxMessages.withService('<one of these>'),
    ],
    when: 'One of these is missing. The part about the Service follows where one is needed.',
  },
  {
    condition: ready,
    status: 'False',
    reason: sandboxReasons.multiplePods,
    messages: [numberPlaceholders(sandboxMessages.multiplePods)],
    when: 'Several Pods have this Sandbox as their controller. It touches none of them.',
  },
  {
    condition: ready,
    status: 'False',
    reason: sandboxReasons.reconcilerError,
    messages: [sandboxMessages.error('<error>')],
    when: 'The API server refused something, or an object of that name has another owner.',
  },
  {
    condition: ready,
    status: 'False',
    reason: sandboxReasons.networkPolicyPending,
    messages: [sandboxMessages.networkPolicyPending('<policy>', '<detail>')],
    when: 'The Pod would have no [network rules](#network-rules) yet.',
  },
  {
    condition: ready,
    status: 'False',
    reason: sandboxReasons.sandboxSuspended,
    messages: [sandboxMessages.suspending, sandboxMessages.suspended],
    when: 'The mode is Suspended; the first message while a Pod of that name exists.',
  },
  {
    condition: ready,
    status: 'False',
    reason: sandboxReasons.podSucceeded,
    messages: [sandboxMessages.podSucceeded],
    when: 'The Pod ended well.',
  },
  {
    condition: ready,
    status: 'False',
    reason: sandboxReasons.podFailed,
    messages: [sandboxMessages.podFailed],
    when: 'The Pod failed.',
  },
  {
    condition: ready,
    status: 'False',
    reason: sandboxReasons.sandboxExpired,
    messages: [sandboxMessages.expired],
    when: 'The expiry has passed.',
  },
  {
    condition: podScheduled,
    status: 'True',
    reason: sandboxReasons.podScheduled,
    messages: ['<of the Pod>'],
    when: 'Copied from the Pod, reason and message included; this reason only where the Pod gives none.',
  },
  {
    condition: podScheduled,
    status: 'Unknown',
    reason: sandboxReasons.podSchedulingUnknown,
    messages: [sandboxMessages.schedulingNotReported, sandboxMessages.schedulingUnknown],
    when: 'The Pod does not report it yet, or the controller cannot tell whether a Pod exists.',
  },
  {
    condition: finished,
    status: 'True',
    reason: sandboxReasons.podSucceeded,
    messages: [sandboxMessages.podSucceeded],
    when: 'The Pod ended well and nothing replaces it.',
  },
  {
    condition: finished,
    status: 'True',
    reason: sandboxReasons.podFailed,
    messages: [sandboxMessages.podFailed],
    when: 'The Pod failed and nothing replaces it.',
  },
];

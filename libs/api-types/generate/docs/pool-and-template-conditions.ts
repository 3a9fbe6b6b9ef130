import { templateConditions, templateReasons, warmPoolConditions, warmPoolReasons } from '../../src/index.ts';
import type { ConditionRow } from './condition-table.ts';

const { available, progressing, templateResolved } = warmPoolConditions;

/** The conditions of a SandboxWarmPool; those of Progressing that are False come before those that are True. */
export const warmPoolRows: readonly ConditionRow[] = [
  {
    condition: available,
    status: 'True',
    reason: warmPoolReasons.minimumReady,
    when: 'At least one member is Ready, or none is wanted.',
  },
  { condition: available, status: 'False', reason: warmPoolReasons.noReadyMembers, when: 'No member is Ready.' },
  {
    condition: progressing,
    status: 'False',
    reason: warmPoolReasons.notProgressing,
    when: 'The API server refuses members, or members are [stuck](#stuck-members). The message counts reasons.',
  },
  {
    condition: progressing,
    status: 'False',
    reason: warmPoolReasons.refillHeld,
    when: '`refill.delay` holds missing members back.',
  },
  {
    condition: progressing,
    status: 'True',
    reason: warmPoolReasons.scalingDown,
    when: 'There are more members than wanted.',
  },
  { condition: progressing, status: 'True', reason: warmPoolReasons.rollingOut, when: 'Stale members are replaced.' },
  {
    condition: progressing,
    status: 'True',
    reason: warmPoolReasons.scalingUp,
    when: 'Members are missing or not Ready yet.',
  },
  {
    condition: progressing,
    status: 'True',
    reason: warmPoolReasons.scaledToTarget,
    when: 'As many members as wanted are Ready.',
  },
  { condition: templateResolved, status: 'True', reason: warmPoolReasons.templateFound, when: 'The template exists.' },
  {
    condition: templateResolved,
    status: 'False',
    reason: warmPoolReasons.templateNotFound,
    when: 'The template does not exist. The controller keeps the members and creates none.',
  },
  {
    condition: templateResolved,
    status: 'False',
    reason: warmPoolReasons.templateInvalid,
    when: 'No member can be made from the template; the message says why.',
  },
];

const { accepted, egressReady, networkPolicyReady } = templateConditions;

/** The conditions of a SandboxTemplate. */
export const templateRows: readonly ConditionRow[] = [
  {
    condition: accepted,
    status: 'True',
    reason: templateReasons.accepted,
    when: 'Sandboxes can be made from the template.',
  },
  {
    condition: accepted,
    status: 'False',
    reason: templateReasons.invalidVolumeClaimTemplates,
    when: 'Names in `volumeClaimTemplates` are empty or repeated.',
  },
  {
    condition: accepted,
    status: 'False',
    reason: templateReasons.invalidNetworkPolicy,
    when: 'The API server refuses the rules of `networkPolicy`. See [Network policy](#network-policy).',
  },
  {
    condition: networkPolicyReady,
    status: 'True',
    reason: templateReasons.applied,
    when: 'The NetworkPolicy is as the template says.',
  },
  {
    condition: networkPolicyReady,
    status: 'True',
    reason: templateReasons.unmanaged,
    when: '`networkPolicyManagement` is Unmanaged.',
  },
  {
    condition: networkPolicyReady,
    status: 'False',
    reason: templateReasons.notControlled,
    when: 'A NetworkPolicy of that name has another owner. The controller leaves it alone.',
  },
  {
    condition: networkPolicyReady,
    status: 'False',
    reason: templateReasons.reconcilerError,
    when: 'The NetworkPolicy could not be written; the message says why.',
  },
  {
    condition: egressReady,
    status: 'True',
    reason: templateReasons.applied,
    when: 'Names are led to the egress proxy. The condition is absent where neither template nor installation says anything of names. See [Egress by name](#egress-by-name).',
  },
  {
    condition: egressReady,
    status: 'True',
    reason: templateReasons.direct,
    when: 'Sandboxes reach addresses alone.',
  },
  {
    condition: egressReady,
    status: 'False',
    reason: templateReasons.invalidEgress,
    when: 'An entry of `egress.allow` is neither a name nor an address, or a name that is never let through, and the list allows nothing; or `egress.rules` has a mistake or cannot be applied, and requests to these hosts fail.',
  },
  {
    condition: egressReady,
    status: 'False',
    reason: templateReasons.proxyMissing,
    when: '`egress.mode` asks for the egress proxy, and the installation has none.',
  },
];

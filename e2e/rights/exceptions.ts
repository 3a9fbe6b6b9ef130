// Rights that a service needs although no end-to-end test makes it use them. Keep the list short: write a test instead where
// one is possible, and take away what nothing needs.
import type { Right } from './rights.ts';

/** Rights that may stay unused, and why. */
export interface Exception {
  /** Names of ServiceAccounts. */
  readonly accounts: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
  readonly why: string;
}

const SANDBOXES = 'sandboxes.agents.x-k8s.io';
const POLICIES = 'networkpolicies.networking.k8s.io';
const BUDGETS = 'poddisruptionbudgets.policy';
const [CLAIMS, TEMPLATES, POOLS] = ['sandboxclaims', 'sandboxtemplates', 'sandboxwarmpools'].map(
  (plural) => `${plural}.extensions.agents.x-k8s.io`,
) as [string, string, string];

const [SNAPSHOTS, CLASSES] = ['sandboxsnapshots.sandlot.dev', 'sandboxsnapshotclasses.sandlot.dev'] as const;
const BUILDS = 'sandboxtemplatebuilds.sandlot.dev';

const [SANDBOXER, POOLER, CLAIMER, SAVER, API, GATEWAY, EGRESS, BUILDER, KEEPER, HOOKER] = [
  'sandlot-sandbox-controller',
  'sandlot-warmpool-controller',
  'sandlot-claim-controller',
  'sandlot-snapshot-controller',
  'sandlot-api',
  'sandlot-gateway',
  'sandlot-egress',
  'sandlot-template-builder',
  'sandlot-volume-controller',
  'sandlot-webhooks',
] as const;

export const exceptions: readonly Exception[] = [
  {
    accounts: [KEEPER],
    verbs: ['patch'],
    resources: ['persistentvolumeclaims', 'services', 'deployments.apps', POLICIES],
    why: 'objects of before an upgrade or a rotation of keys, which the tests of the volume-controller show',
  },
  {
    accounts: [KEEPER],
    verbs: ['list'],
    resources: ['configmaps'],
    why: 'informers list where the API server cannot stream a list; the one of the tests can',
  },
  {
    accounts: ['sandlot-key-keeper'],
    verbs: ['patch'],
    resources: ['secrets'],
    why: 'rotations and renewals, which the tests of the key-keeper and of the chart show; few credentials change in this suite',
  },
  {
    accounts: [SANDBOXER, POOLER, CLAIMER, SAVER],
    verbs: ['update'],
    resources: [SANDBOXES, CLAIMS, POOLS, SNAPSHOTS].map((resource) => `${resource}/finalizers`),
    why: 'admission of clusters with OwnerReferencesPermissionEnforcement asks for it, without a request of its own',
  },
  {
    accounts: [SANDBOXER, POOLER, CLAIMER, SAVER, API, GATEWAY, EGRESS, BUILDER, HOOKER],
    verbs: ['list'],
    resources: [
      ...[SANDBOXES, CLAIMS, TEMPLATES, POOLS, POLICIES, BUDGETS, SNAPSHOTS, CLASSES, BUILDS],
      ...['pods', 'services', 'persistentvolumeclaims', 'nodes', 'leases.coordination.k8s.io'],
    ],
    why: 'informers list where the API server cannot stream a list; the one of the tests can',
  },
  {
    accounts: [EGRESS, HOOKER],
    verbs: ['list'],
    resources: ['secrets'],
    why: 'the same for the Secrets that rules may use, which others read by list',
  },
  {
    accounts: [API],
    verbs: ['get'],
    resources: [SNAPSHOTS],
    why: 'a replica reads a snapshot that its watch has not shown yet; in the tests one replica makes them all',
  },
  {
    accounts: [SANDBOXER, POOLER, CLAIMER, SAVER, BUILDER, KEEPER, HOOKER],
    verbs: ['watch'],
    resources: ['leases.coordination.k8s.io'],
    why: 'a standby watches the lease; in the tests a controller seldom meets another holder',
  },
  {
    accounts: [SANDBOXER, POOLER, CLAIMER, SAVER],
    verbs: ['patch'],
    resources: ['events.events.k8s.io'],
    why: 'an Event that repeats is counted in its series; in the tests few do',
  },
  {
    accounts: [POOLER],
    verbs: ['get'],
    resources: [POLICIES],
    why: 'read when the create of a policy meets one that the watch does not show yet',
  },
  {
    accounts: [SANDBOXER],
    verbs: ['get'],
    resources: ['services', SNAPSHOTS],
    why: 'read when a Service or a snapshot of the name appears between a look and the create',
  },
  {
    accounts: [SAVER],
    verbs: ['get'],
    resources: ['nodes'],
    why: 'read before the data of a node that the watch does not show is given up',
  },
  {
    accounts: [POOLER],
    verbs: ['patch'],
    resources: [SANDBOXES],
    why: 'a member that lost its owner goes back to its pool',
  },
  {
    accounts: [CLAIMER],
    verbs: ['get'],
    resources: [SANDBOXES, CLAIMS, POLICIES],
    why: 'read after a write whose outcome is unknown, or that met a conflict',
  },
  {
    accounts: [GATEWAY, API],
    verbs: ['get'],
    resources: [SANDBOXES, CLAIMS],
    why: 'read when the watch lags behind what a client knows already',
  },
  {
    accounts: [API],
    verbs: ['get'],
    resources: [POOLS, TEMPLATES, BUILDS],
    why: 'read when a create names one that the watch does not show yet',
  },
  {
    accounts: [API],
    verbs: ['delete'],
    resources: ['configmaps'],
    why: 'records of creates are deleted after a day',
  },
  {
    accounts: [SAVER],
    verbs: ['delete'],
    resources: ['persistentvolumeclaims'],
    why: 'copies of disks are deleted if one of them fails; in the tests none does',
  },
  {
    accounts: [SAVER],
    verbs: ['list'],
    resources: ['events.events.k8s.io'],
    why: 'read when the copy of a disk has no volume after ten seconds; in the tests none takes as long',
  },
  {
    accounts: [BUILDER],
    verbs: ['delete'],
    resources: [BUILDS],
    why: 'builds that no template names are deleted after 30 days',
  },
];

export interface Judgement {
  /** Unused rights without an exception. */
  readonly unneeded: readonly Right[];
  /** Exceptions that concern no right at all. */
  readonly stale: readonly Exception[];
}

/** Which unused rights no exception covers, and which exceptions cover no right that is granted. */
export function judgeRights(
  granted: readonly Right[],
  unused: readonly Right[],
  allowed: readonly Exception[],
): Judgement {
  return {
    unneeded: unused.filter((right) => !allowed.some((exception) => covers(exception, right))),
    stale: allowed.filter((exception) => !granted.some((right) => covers(exception, right))),
  };
}

function covers({ accounts, verbs, resources }: Exception, { account, verb, resource }: Right): boolean {
  const [name = ''] = account.split(':').slice(-1);
  return accounts.includes(name) && verbs.includes(verb) && resources.includes(resource);
}

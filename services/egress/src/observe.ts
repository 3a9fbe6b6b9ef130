import {
  annotations,
  findEgressWish,
  findTemplateEgress,
  formatNetworkPolicyName,
  isClosedEgress,
  readPolicyEgress,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, TemplateEgress } from '@sandlot/api-types';
import { findController } from '@sandlot/kube';
import type { KubeObject, NetworkPolicy, Pod, Store } from '@sandlot/kube';
import type { AddressSnapshot, SeenClaim, SeenOwner, SeenWish } from './plan/plan.ts';
import { BY_ADDRESS, BY_UID, findClaim } from './wiring/informers.ts';

/** The caches that say whose an address is. */
export interface Stores {
  readonly pods: Store<Pod>;
  readonly sandboxes: Store<Sandbox>;
  readonly claims: Store<SandboxClaim>;
  readonly policies: Store<NetworkPolicy>;
}

/** Reads all that decides over one address from the caches. */
export function observeAddress(stores: Stores, address: string): AddressSnapshot {
  const running = [...stores.pods.listByIndex(BY_ADDRESS, address)].filter(isRunning);
  const [pod] = running;
  const sandbox = running.length === 1 && pod !== undefined ? findOwner(stores.sandboxes, pod) : undefined;
  return { owner: sandbox === undefined ? undefined : describeOwner(stores, sandbox) };
}

/** Whether the Pod has neither ended nor begun to be deleted. */
function isRunning({ metadata, status }: Pod): boolean {
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  return metadata.deletionTimestamp === undefined && !hasEnded;
}

/** A user may write any owner into an object: one of another namespace owns nothing. */
function hasSameNamespace(owner: KubeObject | undefined, { metadata }: KubeObject): boolean {
  return owner?.metadata.namespace === metadata.namespace;
}

function findOwner(sandboxes: Store<Sandbox>, pod: Pod): Sandbox | undefined {
  const owner = findController(pod);
  if (owner?.kind !== 'Sandbox') return undefined;
  const [sandbox] = sandboxes.listByIndex(BY_UID, owner.uid);
  return hasSameNamespace(sandbox, pod) ? sandbox : undefined;
}

function describeOwner(stores: Stores, sandbox: Sandbox): SeenOwner {
  const { uid = '', namespace = '', annotations: marks = {} } = sandbox.metadata;
  const template = marks[annotations.templateRef];
  const policy =
    template === undefined ? undefined : stores.policies.get(`${namespace}/${formatNetworkPolicyName(template)}`);
  return {
    sandboxUid: uid,
    namespace,
    template,
    claim: findSeenClaim(stores.claims, sandbox),
    egress: template === undefined ? undefined : findEgress(policy),
    within: readPolicyEgress(policy?.spec?.egress ?? []),
    hasPolicy: template === undefined || policy !== undefined,
  };
}

/** Until the policy of a template is seen, its sandboxes reach nothing: it may be that names alone are open to them. */
function findEgress(policy: NetworkPolicy | undefined): TemplateEgress | undefined {
  return policy === undefined ? { mode: 'Proxied', names: [], within: [] } : findTemplateEgress(policy);
}

const NOTHING: SeenWish = { isClosed: true, names: [], denied: [], isObserved: false, rules: [] };

function findSeenClaim(claims: Store<SandboxClaim>, sandbox: Sandbox): SeenClaim | undefined {
  const owner = findController(sandbox);
  if (owner?.kind !== 'SandboxClaim') return undefined;
  const claim = findClaim(claims, owner.uid);
  // Until the claim is seen, the sandbox has it and no wish of it: what a wish closes has to be closed meanwhile.
  if (claim === undefined || !hasSameNamespace(claim, sandbox))
    return { name: owner.name, uid: owner.uid, wish: NOTHING };
  const wish = findEgressWish(claim);
  const seen = { name: owner.name, uid: owner.uid, text: claim.metadata.annotations?.[annotations.network] };
  if (wish === undefined) return seen;
  const { names = [], denyOut: denied, observe: isObserved = false, rules = [] } = wish;
  return { ...seen, wish: { isClosed: isClosedEgress(wish), names, denied, isObserved, rules } };
}

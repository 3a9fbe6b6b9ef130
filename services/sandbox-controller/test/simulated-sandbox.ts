import { annotations as keys, rfc3339 } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { JsonObject, JsonValue, KubeObject, PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import { decide } from '../src/decide.ts';
import { ownershipOf } from '../src/ownership/ownership.ts';
import type { Failure, Phase, Snapshot } from '../src/plan/snapshot.ts';
import type { Step } from '../src/plan/steps.ts';
import { EARLIER, NOW_MS, RUNTIME, WORK, notebook } from './builders.ts';

type Spec = Sandbox['spec'];

/**
 * One Sandbox, its children, a kubelet and the time, all in memory. Steps are carried out as the API server would, so that
 * random histories of edits, Pod events, passes and crashes can be played against the decisions alone.
 */
export class World {
  sandbox: Sandbox | undefined = notebook({ spec: { volumeClaimTemplates: [WORK], shutdownPolicy: 'Retain' } });
  pods: Pod[] = [];
  service: Service | undefined;
  claims: PersistentVolumeClaim[] = [];
  nowMs = NOW_MS;
  /** When it was last used, as far as anybody reported. */
  usedMs = 0;
  /** Until when the last request to wake it stands. */
  askedUntilMs = 0;
  #isAsked = false;
  told: ReadonlyMap<string, number> = new Map();
  /** What the API server refuses at present. */
  refusing: Phase | undefined;
  #uids = 0;

  snapshot(sandbox: Sandbox): Snapshot {
    const owned = this.pods.filter((pod) => ownershipOf(pod, sandbox) === 'ours');
    return {
      nowMs: this.nowMs,
      settings: { clusterDomain: 'cluster.local', unsetService: 'V1Alpha1', runtime: RUNTIME },
      quietMs: 2_000,
      aftermathUntilMs: undefined,
      yieldsUntilMs: undefined,
      sandbox,
      ownedPods: owned,
      foreignPod: owned.length > 0 ? undefined : this.pods[0],
      service: this.service,
      claims: new Map(this.claims.map((claim) => [claim.metadata.name ?? '', claim])),
      failures: [],
      wakeUntilMs: this.#isAsked && this.askedUntilMs > this.nowMs ? this.askedUntilMs : undefined,
      reportSeenMs: undefined,
      told: this.told,
      gone: false,
    };
  }

  /** One pass; the controller dies after `steps` steps. Calls `check` after each. True: nothing was left to do. */
  pass(steps: number, check: (step: Step) => void): boolean {
    const failures: Failure[] = [];
    for (let left = steps; ;) {
      if (this.sandbox === undefined) return true;
      const plan = decide({ ...this.snapshot(this.sandbox), failures });
      if (plan.length === 0) return true;
      for (const step of plan) {
        if (left === 0) return false;
        left -= 1;
        if (this.#refuses(step, failures)) continue;
        this.#carryOut(step);
        check(step);
      }
      if (plan.some((step) => step.kind === 'lookAgain')) return false;
    }
  }

  edit(change: (spec: Spec) => Spec): void {
    if (this.sandbox === undefined) return;
    const { metadata, spec } = this.sandbox;
    const generation = (metadata.generation ?? 0) + 1;
    this.sandbox = { ...this.sandbox, metadata: { ...metadata, generation }, spec: change(spec) };
  }

  /** The kubelet reports on every Pod that is not terminating. */
  report(phase: 'Running' | 'Failed' | 'Succeeded', ready: boolean): void {
    const conditions = [{ type: 'Ready', status: ready ? ('True' as const) : ('False' as const) }];
    const status = { phase, conditions, podIPs: ready ? [{ ip: '10.0.0.7' }] : [] };
    this.pods = this.pods.map((pod) => (pod.metadata.deletionTimestamp === undefined ? { ...pod, status } : pod));
  }

  /** Somebody deletes the Pods; with `force` they are gone at once. */
  deletePods(force: boolean): void {
    this.pods = force ? [] : this.pods.map((pod) => this.#terminating(pod));
  }

  /** Somebody uses the Sandbox, and a tool reports it. */
  use(): void {
    this.usedMs = this.nowMs;
    const annotations = { [keys.lastActivityAt]: new Date(this.nowMs).toISOString() };
    this.#patchSandbox({ metadata: { annotations } });
  }

  /** Somebody asks for it through the gateway. */
  ask(): void {
    this.#isAsked = true;
    this.askedUntilMs = this.nowMs + 5_000;
  }

  /** The kubelet has stopped what was terminating. */
  finishTermination(): void {
    this.pods = this.pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  }

  /** A step that the API server refuses, or one of a phase that has failed before, changes nothing. */
  #refuses(step: Step, failures: Failure[]): boolean {
    if (!('phase' in step)) return false;
    const hasFailed = failures.some(({ phase }) => phase === step.phase);
    if (step.phase === this.refusing && !hasFailed) failures.push({ phase: step.phase, message: 'refused' });
    return hasFailed || step.phase === this.refusing;
  }

  #carryOut(step: Step): void {
    switch (step.kind) {
      case 'createClaim':
        this.claims = [...this.claims, this.#born(step.claim)];
        return;
      case 'patchClaim':
        this.claims = this.claims.map((claim) => (same(claim, step.claim) ? patched(claim, step.patch) : claim));
        return;
      case 'deleteClaim':
        this.claims = this.claims.filter((claim) => !same(claim, step.claim));
        return;
      case 'createPod':
        this.pods = [...this.pods, { ...this.#born(step.pod), status: { phase: 'Pending' } }];
        return;
      case 'patchPod':
        this.pods = this.pods.map((pod) => (same(pod, step.pod) ? patched(pod, step.patch) : pod));
        return;
      case 'deletePod':
        this.pods = this.pods.map((pod) => (same(pod, step.pod) ? this.#terminating(pod) : pod));
        return;
      default:
        this.#carryOutElsewhere(step);
    }
  }

  #carryOutElsewhere(step: Step): void {
    switch (step.kind) {
      case 'createService':
        this.service = this.#born(step.service);
        return;
      case 'patchService':
        this.service = patched(step.service, step.patch);
        return;
      case 'deleteService':
        this.service = undefined;
        return;
      case 'suspendSandbox':
      case 'resumeSandbox':
        this.#patchSandbox(step.patch);
        this.edit((spec) => spec);
        if (step.kind === 'resumeSandbox') this.#isAsked = false;
        return;
      case 'patchSandbox':
      case 'patchStatus':
        this.#patchSandbox(step.patch);
        return;
      case 'deleteSandbox':
        this.sandbox = undefined;
        return;
      default:
        this.#remember(step);
    }
  }

  #remember(step: Step): void {
    if (step.kind === 'refuseWake') this.#isAsked = false;
    if (step.kind === 'tell') this.told = new Map([...this.told, [step.trouble.key, this.nowMs + 600_000]]);
  }

  #patchSandbox(patch: JsonObject): void {
    if (this.sandbox !== undefined) this.sandbox = patched(this.sandbox, patch);
  }

  #born<T extends KubeObject>(object: T): T {
    this.#uids += 1;
    const identity = { uid: `uid-${this.#uids}`, resourceVersion: '1', creationTimestamp: rfc3339(this.nowMs) };
    return { ...object, metadata: { ...object.metadata, ...identity } };
  }

  #terminating(pod: Pod): Pod {
    return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: pod.metadata.deletionTimestamp ?? EARLIER } };
  }
}

function same(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid;
}

/** RFC 7396 on an object; the type stays what the caller knows it to be. */
function patched<T extends KubeObject>(object: T, patch: JsonObject): T {
  return merge(structuredClone(object) as unknown as JsonObject, patch) as unknown as T;
}

function merge(target: JsonValue | undefined, patch: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(patch)) return patch;
  const merged: Record<string, JsonValue | undefined> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) Reflect.deleteProperty(merged, name);
    else merged[name] = merge(merged[name], value);
  }
  return merged;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

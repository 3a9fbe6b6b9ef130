import { labels } from '@sandlot/api-types';
import { pool, sandbox, template } from '@sandlot/api-types/testing';
import { decide } from '../src/decide.ts';
import type { Plan, Step } from '../src/plan/plan.ts';
import type { Member, PoolSnapshot } from '../src/plan/snapshot.ts';

/** Noon of the day; the builders create pools at midnight. */
export const NOW = Date.UTC(2026, 0, 1, 12);
const MIDNIGHT = '2026-01-01T00:00:00Z';

/** What a test states about a member; everything else has a default. */
export interface MemberParts {
  readonly ready?: boolean;
  readonly finished?: boolean;
  readonly current?: boolean;
  readonly created?: string;
  /** Transition of the Ready condition; default the creation. */
  readonly changed?: string;
  /** Message of the scheduler that finds no node. */
  readonly unschedulable?: string;
}

type Status = NonNullable<Member['sandbox']['status']>;
type Condition = NonNullable<Status['conditions']>[number];

function condition(type: string, holds: boolean, rest: Partial<Condition> = {}): Condition {
  const text = { reason: 'Test', message: '', lastTransitionTime: MIDNIGHT };
  return { type, status: holds ? 'True' : 'False', ...text, ...rest };
}

/** A member: by default Ready, current and twelve hours old; one that is not Ready is five seconds old. */
export function member(name: string, parts: MemberParts = {}): Member {
  const { ready = true, finished = false, current = true, unschedulable } = parts;
  const { created = ready ? MIDNIGHT : ago(5), changed = created } = parts;
  const conditions = [
    condition('Ready', ready, { lastTransitionTime: changed }),
    ...(finished ? [condition('Finished', true, { reason: 'PodFailed' })] : []),
    ...(unschedulable === undefined
      ? []
      : [condition('PodScheduled', false, { reason: 'Unschedulable', message: unschedulable })]),
  ];
  const metadata = { creationTimestamp: created, labels: { [labels.warmPoolMember]: 'x' } };
  return { current, sandbox: sandbox({ name, metadata, status: { conditions } }) };
}

/** `count` equal members named `m0`, `m1` and so on. */
export function members(count: number, parts: MemberParts = {}, prefix = 'm'): Member[] {
  return Array.from({ length: count }, (_, index) => member(`${prefix}${index}`, parts));
}

/** The time `seconds` before {@link NOW}, as Kubernetes writes it. */
export function ago(seconds: number): string {
  return new Date(NOW - seconds * 1_000).toISOString().replace('.000', '');
}

export interface SnapshotParts extends Partial<PoolSnapshot> {
  readonly replicas?: number;
  /** Fields of the pool's spec beside `replicas`. */
  readonly spec?: Partial<PoolSnapshot['pool']['spec']>;
}

/** A pool of three at {@link NOW}, without members or history. */
export function snapshot({ replicas = 3, spec = {}, ...rest }: SnapshotParts = {}): PoolSnapshot {
  return {
    pool: pool({ spec: { replicas, ...spec } }),
    template: template(),
    templateHash: 'h',
    members: [],
    strays: [],
    terminating: 0,
    unseenCreates: 0,
    unseenDeletes: new Set(),
    inUse: 0,
    windows: [],
    history: {},
    lastStatus: rest.pool?.status,
    statusNotBeforeMs: 0,
    nowMs: NOW,
    monotonicMs: 1_000_000,
    jitter: 0,
    ...rest,
  };
}

/** The steps of this kind. */
export function steps<K extends Step['kind']>(plan: Plan, kind: K): Extract<Step, { kind: K }>[] {
  return plan.filter((step): step is Extract<Step, { kind: K }> => step.kind === kind);
}

/** Members that the plan creates. */
export function creates(plan: Plan): number {
  return steps(plan, 'create').reduce((sum, { count }) => sum + count, 0);
}

/** Names of the members that the plan deletes. */
export function deletes(plan: Plan): string[] {
  return steps(plan, 'delete').flatMap((step) => step.members.map(({ metadata }) => metadata.name ?? ''));
}

/** The status that the plan for this snapshot writes. */
export function getStatus(parts: SnapshotParts): NonNullable<PoolSnapshot['lastStatus']> {
  const [step] = steps(decide(snapshot(parts)), 'writeStatus');
  if (step === undefined) throw new Error('the plan writes no status');
  return step.status;
}

/** One condition of {@link getStatus}. */
export function findCondition(parts: SnapshotParts, type: string): Condition | undefined {
  return getStatus(parts).conditions?.find((entry) => entry.type === type);
}

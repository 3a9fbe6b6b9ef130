import { annotations, claimConditions, findCondition, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import {
  carrier,
  endOperation,
  runInContext,
  isSampled,
  isSlow,
  linkActiveSpan,
  findOperation,
  recordSpan,
  spanAttributes,
  spanNames,
} from '@sandlot/telemetry';
import type { Operation } from '@sandlot/telemetry';
import type { ClaimMemory } from '../memory/claim-memory.ts';
import { findEnding, isServed, getStartMs, getWallMs } from './trace-times.ts';
import type { ClaimEnding } from './trace-times.ts';

export interface ClaimTraceDeps {
  readonly claims: Pick<Store<SandboxClaim>, 'get'>;
  readonly sandboxes: Pick<Store<Sandbox>, 'get'>;
  readonly memory: ClaimMemory;
  readonly clock: Clock;
}

/**
 * The trace of each claim from its submission to its first Ready or its failure. The spans of a pass are children of
 * `claim.create`. That span is recorded only when the claim's status shows its end: a crash leaves no open span, and another
 * process continues with the same ids.
 */
export class ClaimTraces {
  readonly #deps: ClaimTraceDeps;
  /** By UID of a claim that this process works on. */
  readonly #open = new Map<string, Operation>();
  /** UIDs of claims whose trace this process has ended, perhaps before the watch shows it. */
  readonly #over = new Set<string>();

  constructor(deps: ClaimTraceDeps) {
    this.#deps = deps;
  }

  /** Runs a whole pass in the trace of its claim, and ends the trace after its last pass. */
  async within(key: string, run: () => Promise<void>): Promise<void> {
    const claim = this.#deps.claims.get(key);
    const operation = claim === undefined ? undefined : this.#openOperation(claim);
    if (claim === undefined || operation === undefined) return run();
    await runInContext(operation.context, run);
    const latest = this.#deps.claims.get(key);
    if (latest === undefined || latest.metadata.uid !== claim.metadata.uid) return;
    const ending = findEnding(latest);
    if (ending === undefined) return;
    const isNews = findEnding(claim) === undefined;
    // A failure from before this pass is recorded already; a success may be recorded again until the claim is annotated.
    if (isNews || ending.error === undefined) this.#end(latest, { operation, ending, isNews });
    else this.#close(latest);
  }

  /** Trace context for the claim's Sandbox: the claim's trace, or the valid context in the claim's annotation. */
  findCarrier(claim: SandboxClaim): string | undefined {
    const operation = this.#operationFor(claim);
    if (operation !== undefined) return carrier.inject(operation.context);
    const given = claim.metadata.annotations?.[annotations.traceContext];
    return carrier.extract(given) === undefined ? undefined : given;
  }

  /**
   * The same for a warm Sandbox. No other process takes part in the adoption, so a trace that is not sampled and that no
   * client began is left out: it would make every copy of the Sandbox larger.
   */
  findAdoptionCarrier(claim: SandboxClaim): string | undefined {
    const operation = this.#operationFor(claim);
    const isAsked = claim.metadata.annotations?.[annotations.traceContext] !== undefined;
    return operation === undefined || isAsked || isSampled(operation) ? this.findCarrier(claim) : undefined;
  }

  /** The span of the claim; undefined while tracing is off. */
  findSpan(claim: SandboxClaim): Operation['span'] | undefined {
    return this.#operationFor(claim)?.span;
  }

  /** The claim is deleted: ends its trace as failed if it was never served. */
  endDeleted(claim: SandboxClaim): void {
    const { uid = '' } = claim.metadata;
    const operation = this.#open.get(uid);
    if (operation !== undefined) {
      const ending = { error: 'the claim was deleted before it was served', outcome: 'Deleted', recordedMs: undefined };
      this.#end(claim, { operation, ending, isNews: true });
    }
    this.#open.delete(uid);
    this.#over.delete(uid);
  }

  #openOperation(claim: SandboxClaim): Operation | undefined {
    const { uid = '' } = claim.metadata;
    const known = this.#open.get(uid);
    if (known !== undefined || this.#over.has(uid) || isServed(claim)) return known;
    const operation = this.#derive(claim);
    if (operation !== undefined) this.#open.set(uid, operation);
    return operation;
  }

  #operationFor(claim: SandboxClaim): Operation | undefined {
    return this.#open.get(claim.metadata.uid ?? '') ?? this.#derive(claim);
  }

  #derive(claim: SandboxClaim): Operation | undefined {
    const { uid = '', annotations: notes = {} } = claim.metadata;
    const { observedAt } = this.#deps.memory.of(claim);
    const carried = notes[annotations.traceContext];
    return findOperation({ name: spanNames.claimCreate, uid, carried, startMs: getStartMs(claim, observedAt) });
  }

  #close({ metadata: { uid = '' } }: SandboxClaim): void {
    this.#open.delete(uid);
    this.#over.add(uid);
  }

  #end(claim: SandboxClaim, { operation, ending, isNews }: End): void {
    const { memory, clock } = this.#deps;
    const { uid = '', namespace } = claim.metadata;
    this.#close(claim);
    const known = memory.of(claim);
    const startMs = getStartMs(claim, known.observedAt);
    // Span times have fractions: one more millisecond keeps every child span inside.
    const nowMs = clock.now() + 1;
    const endMs = isNews ? nowMs : Math.min(nowMs, (ending.recordedMs ?? nowMs) + 999);
    const common = { [spanAttributes.namespace]: namespace ?? '', [spanAttributes.claimUid]: uid };
    const { tried } = known.milestones;
    if (tried !== undefined) {
      const attributes = { ...common, [spanAttributes.waited]: known.waited === true };
      const triedMs = Math.min(getWallMs(clock, tried), endMs);
      const { context: parent } = operation;
      recordSpan({ name: spanNames.claimQueue, parent, startMs, endMs: triedMs, attributes });
    }
    const sandbox = this.#findSandbox(claim);
    const launchType = sandbox?.metadata.labels?.[labels.launchType] ?? 'unknown';
    endOperation(operation, {
      startMs,
      endMs,
      error: ending.error,
      isSlow: isWarmBound(launchType, claim)
        ? isSlow('warmMs', endMs - startMs)
        : isSlow('coldMs', getReadySecondMs(claim, endMs) - startMs),
      attributes: {
        ...common,
        ...describe(claim, sandbox),
        [spanAttributes.launchType]: launchType,
        ...getOutcome(ending),
      },
    });
  }

  #findSandbox({ metadata, status }: SandboxClaim): Sandbox | undefined {
    const name = status?.sandbox?.name;
    return name === undefined ? undefined : this.#deps.sandboxes.get(`${metadata.namespace ?? ''}/${name}`);
  }
}

interface End {
  readonly operation: Operation;
  readonly ending: ClaimEnding;
  /** Whether it ended during this pass. */
  readonly isNews: boolean;
}

const isWarmBound = (launchType: string, { status }: SandboxClaim): boolean =>
  launchType === 'warm' && status?.mode !== 'Detached';

/** The time of Ready in the status. The sandbox-controller uses the same one for the phases of the start. */
function getReadySecondMs({ status }: SandboxClaim, endMs: number): number {
  const ready = findCondition(status?.conditions, claimConditions.ready);
  const ms = Date.parse(ready?.status === 'True' ? ready.lastTransitionTime : '');
  return Number.isNaN(ms) ? endMs : ms;
}

function describe({ metadata, spec }: SandboxClaim, sandbox: Sandbox | undefined): Record<string, string> {
  const template = spec.sandboxTemplateRef?.name ?? sandbox?.metadata.annotations?.[annotations.templateRef];
  return {
    [spanAttributes.claimName]: metadata.name ?? '',
    ...(template === undefined ? {} : { [spanAttributes.template]: template }),
    ...(spec.warmPoolRef === undefined ? {} : { [spanAttributes.pool]: spec.warmPoolRef.name }),
    ...(sandbox === undefined ? {} : { [spanAttributes.sandboxName]: sandbox.metadata.name ?? '' }),
  };
}

function getOutcome({ outcome }: ClaimEnding): Record<string, string> {
  return outcome === undefined ? {} : { [spanAttributes.outcome]: outcome };
}

/** Links the adoption to the trace in which the pool warmed this member. It is another operation, so no parent. */
export function linkToWarming({ metadata: { uid = '' } }: Sandbox): void {
  linkActiveSpan(() => findOperation({ name: spanNames.sandboxCreate, uid }));
}

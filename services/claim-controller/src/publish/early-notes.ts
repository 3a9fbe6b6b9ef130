import { annotations } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { withTrace } from '../adopt/create.ts';
import { findReadyWithinMs } from '../delivery/rules.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { EarlyNotes } from '../plan/pass.ts';
import { buildNotes, isEarly } from './annotate.ts';
import { findRecordedReadyAt } from './first-ready.ts';
import type { SentNotes } from './write-behind.ts';

type EarlyNotesDeps = Pick<ApplyDeps, 'memory' | 'writeBehind' | 'traces'>;

/** Undefined while many claims arrive: then the annotations are written behind. */
export function openEarlyNotes(deps: EarlyNotesDeps, claim: SandboxClaim): EarlyNotes | undefined {
  return isEarly(deps, claim) ? new NotesBesideCommit(deps, claim) : undefined;
}

class NotesBesideCommit implements EarlyNotes {
  readonly #deps: EarlyNotesDeps;
  readonly #claim: SandboxClaim;
  #sent: SentNotes | undefined;

  constructor(deps: EarlyNotesDeps, claim: SandboxClaim) {
    this.#deps = deps;
    this.#claim = claim;
  }

  begin(member: Sandbox, traceContext: string | undefined): void {
    if (this.#sent !== undefined) return;
    const { memory, writeBehind } = this.#deps;
    // With steps after the commit the claim becomes Ready later, and that time is written then.
    const isReadyThen = isReady(member) && findReadyWithinMs(this.#claim, member) === undefined;
    if (isReadyThen) memory.markReady(this.#claim, findRecordedReadyAt(this.#claim));
    const sandboxName = member.metadata.name ?? '';
    memory.of(this.#claim).notedName = sandboxName;
    const notes = buildNotes(this.#deps, this.#claim, { sandboxName, sandbox: withTrace(member, traceContext) });
    this.#sent = writeBehind.writeNow(this.#claim, notes);
  }

  settle(): Promise<SandboxClaim | undefined> {
    return this.#sent?.settle() ?? Promise.resolve(undefined);
  }

  retract(): void {
    if (this.#sent === undefined) return;
    const { memory, writeBehind } = this.#deps;
    memory.unmarkReady(this.#claim);
    writeBehind.schedule(this.#claim, { [annotations.sandboxName]: null, [annotations.claimFirstReadyAt]: null });
  }
}

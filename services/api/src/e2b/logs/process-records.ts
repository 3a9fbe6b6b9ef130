import type { Clock, Logger } from '@sandlot/std';
import { z } from 'zod';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { askDaemon } from '../daemon/ask-daemon.ts';
import type { DaemonDeps } from '../daemon/ask-daemon.ts';
import { isMeasurable } from '../metrics/read-sample.ts';
import { levels, MAX_LINE_BYTES } from './lines.ts';
import type { LogLine } from './lines.ts';
import { readBounded } from './read-bounded.ts';

export interface RecordDeps extends DaemonDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

/** Longer answers of a daemon are none: its records take half a MiB, and as JSON never more than this. */
const MAX_ANSWER_BYTES = 4 * 1_048_576;
const DAEMON_TIMEOUT_MS = 3_000;
/** A clock of the sandbox that differs more from that of the API says nothing about when a line was written. */
const CLOCK_TOLERANCE_MS = 5_000;
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

const time = z.int().min(0).max(LATEST_MS);

/** The answer of the daemon's `/records` (docs/reference/runtime.md#records-of-processes), or of what took its place in the sandbox. */
const daemonRecords = z.object({
  now: time,
  records: z.array(
    z.object({
      ms: time,
      level: z.enum(levels),
      event: z.string().max(32),
      message: z.string(),
      pid: z.int().min(1).optional(),
    }),
  ),
});

/** What processes that clients started have done and printed. */
export interface ProcessRecords {
  /** The oldest first. */
  readonly lines: readonly LogLine[];
  /** When they were read, epoch milliseconds. What is as late as this, or later, may have company. Undefined: the daemon does not say. */
  readonly untilMs: number | undefined;
}

const NONE: ProcessRecords = { lines: [], untilMs: undefined };

/**
 * What the daemon of a running sandbox has recorded from `fromMs` on; nothing if it does not answer in time, or keeps no records. The answer
 * is of a tenant's making: it counts as text with a time, and nothing more. Never rejects.
 */
export async function readProcessRecords(
  deps: RecordDeps,
  claimed: ClaimedSandbox,
  { fromMs, signal }: { readonly fromMs: number; readonly signal: AbortSignal },
): Promise<ProcessRecords> {
  const { gatewayUrl, clock, log } = deps;
  if (gatewayUrl === undefined || claimed.sandbox?.spec.runtime?.inject !== true || !isMeasurable(claimed)) return NONE;
  try {
    const response = await askDaemon(deps, claimed.claim, {
      gatewayUrl,
      path: `/records?from=${fromMs}`,
      signal: AbortSignal.any([signal, AbortSignal.timeout(DAEMON_TIMEOUT_MS)]),
    });
    const body = response.ok ? await readBounded(response, MAX_ANSWER_BYTES) : undefined;
    return body === undefined ? NONE : parseRecords(body.toString('utf8'), { fromMs, nowMs: clock.now() });
  } catch (err) {
    log.debug({ err, sandbox: claimed.claim.metadata.name }, 'could not read the records of a daemon');
    return NONE;
  }
}

/** Throws for what is no answer of a daemon. */
function parseRecords(
  text: string,
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
): ProcessRecords {
  const { now, records } = daemonRecords.parse(JSON.parse(text));
  const lines = records
    .filter(({ ms }) => ms >= fromMs)
    .map(({ ms, message, level, event, pid }) => ({
      ms,
      message: message.slice(0, MAX_LINE_BYTES),
      process: { level, event, pid: pid?.toString() },
    }))
    .sort((a, b) => a.ms - b.ms);
  return { lines, untilMs: Math.abs(now - nowMs) < CLOCK_TOLERANCE_MS ? now : undefined };
}

import type { Bus, Ledger } from '@sandlot/bus';
import { ledgerNames } from '@sandlot/service';
import type { Clock } from '@sandlot/std';

/** How often this process looks for the streams. Events wait in the controllers while one is missing. */
const LOOK_MS = 2_000;
/** The longest pause while the server refuses a stream, for example because its disk is full. */
const MAX_PAUSE_MS = 60_000;
/** How often this process restores the settings of the streams. */
const REPAIR_MS = 60_000;

export interface KeeperDeps {
  readonly bus: Pick<Bus, 'openLedger' | 'ensureStreams' | 'readDeadLetters' | 'isConnected'>;
  readonly clock: Clock;
}

/**
 * Declares the streams and the records of all controllers, and declares them anew when they are lost, until the signal aborts.
 * The bus also declares them after each connect.
 */
export async function keepStreams({ bus, clock }: KeeperDeps, signal: AbortSignal): Promise<void> {
  const ledgers = ledgerNames.map((name) => bus.openLedger(name)).filter((ledger) => ledger !== undefined);
  let pauseMs = LOOK_MS;
  let repairedMs = clock.monotonic();
  for (;;) {
    await clock.sleep(pauseMs, signal);
    if (signal.aborted) return;
    const isMissing = bus.isConnected() && (await isOneMissing(bus, ledgers));
    if (isMissing || clock.monotonic() - repairedMs >= REPAIR_MS) {
      await bus.ensureStreams();
      repairedMs = clock.monotonic();
    }
    pauseMs = isMissing ? Math.min(2 * pauseMs, MAX_PAUSE_MS) : LOOK_MS;
  }
}

/** Returns false also when the server does not answer, because it accepts no declaration then. */
async function isOneMissing(bus: KeeperDeps['bus'], ledgers: readonly Ledger[]): Promise<boolean> {
  try {
    const identities = await Promise.all(ledgers.map((ledger) => ledger.readIdentity()));
    return identities.includes(undefined) || (await bus.readDeadLetters()) === undefined;
  } catch {
    return false;
  }
}

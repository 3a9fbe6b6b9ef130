import type { FoundSecret } from '../plan/plan.ts';
import type { WantedSecret } from '../plan/wanted.ts';
import { readCertificate } from './read-certificate.ts';

/** How long before its end an authority needs the operator. */
const WARN_MS = 90 * 86_400_000;

/** Authorities of the Secret that end soon, a sentence each. They are not renewed by themselves: what runs trusts the one of its start. */
export function listEnding({ name, entries }: WantedSecret, found: FoundSecret, nowMs: number): readonly string[] {
  return Object.entries(entries).flatMap(([entry, recipe]) => {
    if (recipe !== 'authority') return [];
    const certificate = readCertificate(found.entries[`${entry}.crt`] ?? '');
    if (certificate === undefined) return [`Secret ${name}: ${entry}.crt has no certificate`];
    const { untilMs } = certificate;
    if (untilMs - nowMs >= WARN_MS) return [];
    return [`Secret ${name}: the authority in ${entry}.crt ends on ${new Date(untilMs).toISOString().slice(0, 10)}`];
  });
}

import type { FoundSecret, Phase } from '../plan/plan.ts';
import type { WantedAuthority } from '../plan/wanted.ts';
import type { Change } from '../rotate/rotate.ts';
import { NEXT } from './decide-certificates.ts';
import { issueCertificates } from './issue.ts';
import { listIssuers, splitPem } from './read-certificate.ts';

/** What a stage changes in the Secret of each certificate, in the order of the authority. */
export function renewCertificates(
  { name, certificates }: WantedAuthority,
  found: readonly FoundSecret[],
  { phase, nowMs }: { readonly phase: Phase; readonly nowMs: number },
): readonly Change[] {
  if (phase === 'switch') return found.map(({ entries }) => useNext(entries));
  if (phase === 'finish') return found.map(({ entries }) => dropOthers(entries));
  const issued = issueCertificates(name, certificates, nowMs);
  return found.map(({ entries }, at) => {
    const { ca = '', crt = '', key = '' } = issued[at] ?? {};
    const used = listIssuers(entries['ca.crt'] ?? '', entries['tls.crt'] ?? '').join('');
    return { 'ca.crt': used + ca, [NEXT.crt]: crt, [NEXT.key]: key };
  });
}

type Entries = FoundSecret['entries'];

/** A write that came through for one of two sides is not repeated for it: its next certificate is gone. */
function useNext(entries: Entries): Change {
  const [crt, key] = [entries[NEXT.crt], entries[NEXT.key]];
  if (crt === undefined || key === undefined) return {};
  return { 'tls.crt': crt, 'tls.key': key, [NEXT.crt]: null, [NEXT.key]: null };
}

function dropOthers(entries: Entries): Change {
  const all = splitPem(entries['ca.crt'] ?? '').join('');
  const used = listIssuers(entries['ca.crt'] ?? '', entries['tls.crt'] ?? '').join('');
  return used === all ? {} : { 'ca.crt': used, [NEXT.crt]: null, [NEXT.key]: null };
}

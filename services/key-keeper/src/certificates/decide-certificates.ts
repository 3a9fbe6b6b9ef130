import type { FoundSecret, Phase, Plan, Snapshot } from '../plan/plan.ts';
import { phases } from '../plan/plan.ts';
import type { WantedAuthority, WantedCertificate } from '../plan/wanted.ts';
import { ROTATE } from '../rotate/read-rotation.ts';
import { listIssuers, readCertificate, splitPem } from './read-certificate.ts';
import type { ReadCertificate } from './read-certificate.ts';

const DAY_MS = 86_400_000;
/** A renewal begins this long before the end of a certificate. */
const RENEW_MS = 365 * DAY_MS;
/** Both authorities are accepted for so long before the new certificate is used, and after. */
const OVERLAP_MS = 60 * DAY_MS;

const FILES = ['ca.crt', 'tls.crt', 'tls.key'] as const;
export const NEXT = { crt: 'next.crt', key: 'next.key' } as const;

/** What to do about the certificates of one authority: see docs/operations/rotate-keys.md#certificates. */
export function decideAuthority(authority: WantedAuthority, { found, nowMs }: Snapshot): Plan {
  const { certificates } = authority;
  const secrets = certificates.map(({ name }) => found.get(name));
  const refusals = certificates.flatMap((wanted, at) => listRefusals(wanted, secrets[at]));
  if (refusals.length > 0 || certificates.some(({ given }) => given)) return { steps: [], refusals };
  const present = secrets.filter((secret) => secret !== undefined);
  if (present.length < secrets.length || !isOneAuthority(present)) {
    return { steps: [{ do: 'issue', authority, found: secrets }], refusals };
  }
  const phase = findPhase(present, nowMs);
  if (phase === undefined) return { steps: [], refusals };
  if (typeof phase !== 'string') return { steps: [], refusals: [`Secret ${certificates[0]?.name}: ${phase.refusal}`] };
  return { steps: [{ do: 'renew', authority, found: present, phase }], refusals };
}

function findPhase(secrets: readonly FoundSecret[], nowMs: number): Phase | Refusal | undefined {
  const half = findHalfDone(secrets);
  if (half !== undefined) return half;
  // The Secret that is annotated speaks for all of its authority.
  const asked = secrets.map(({ rotate }) => rotate).find((rotate) => rotate !== undefined);
  return asked === undefined ? findDuePhase(secrets, nowMs) : readPhase(asked, secrets);
}

function listRefusals({ name, given }: WantedCertificate, found: FoundSecret | undefined): readonly string[] {
  if (found === undefined) return given ? [`Secret ${name} does not exist`] : [];
  const missing = FILES.filter((file) => (found.entries[file] ?? '') === '');
  const lacks = missing.length === 0 ? [] : [`Secret ${name} lacks ${missing.join(', ')}`];
  return given && found.rotate !== undefined
    ? [...lacks, `Secret ${name} is yours: rotate it where it comes from`]
    : lacks;
}

/** Whether each side accepts the certificate of every other. */
function isOneAuthority(secrets: readonly FoundSecret[]): boolean {
  return secrets.every(({ entries: { 'ca.crt': bundle = '' } }) =>
    secrets.every(({ entries: { 'tls.crt': certificate = '' } }) => listIssuers(bundle, certificate).length > 0),
  );
}

/** The stage to repeat after a kill between two writes: some of the Secrets have a next certificate, and others have none. */
function findHalfDone(secrets: readonly FoundSecret[]): Phase | undefined {
  const nexts = secrets.map(({ entries }) => entries[NEXT.crt]).filter((next) => next !== undefined);
  if (nexts.length === 0 || nexts.length === secrets.length) return undefined;
  const others = secrets.filter(({ entries }) => entries[NEXT.crt] === undefined);
  const accept = others.every(({ entries }) =>
    nexts.every((next) => listIssuers(entries['ca.crt'] ?? '', next).length > 0),
  );
  return accept ? 'switch' : 'prepare';
}

/** The stage that is due by the dates of the certificates. */
function findDuePhase(secrets: readonly FoundSecret[], nowMs: number): Phase | undefined {
  const read = (file: string): readonly ReadCertificate[] =>
    secrets.flatMap(({ entries }) => readCertificate(entries[file] ?? '') ?? []);
  const [next] = read(NEXT.crt);
  if (next !== undefined) return nowMs - next.fromMs >= OVERLAP_MS ? 'switch' : undefined;
  const used = read('tls.crt');
  if (used.some(({ untilMs }) => untilMs - nowMs < RENEW_MS)) return 'prepare';
  const hasOld = secrets.some(({ entries }) => splitPem(entries['ca.crt'] ?? '').length > 1);
  return hasOld && used.every(({ fromMs }) => nowMs - fromMs >= 2 * OVERLAP_MS) ? 'finish' : undefined;
}

interface Refusal {
  readonly refusal: string;
}

function readPhase(asked: string, secrets: readonly FoundSecret[]): Phase | Refusal {
  const phase = phases.find((known) => asked.trim() === `tls.crt ${known}`);
  if (phase === undefined) return { refusal: `${ROTATE} can be tls.crt and one of ${phases.join(', ')}` };
  if (phase === 'switch' && secrets.every(({ entries }) => entries[NEXT.crt] === undefined)) {
    return { refusal: 'prepare the rotation of tls.crt before the switch' };
  }
  return phase;
}

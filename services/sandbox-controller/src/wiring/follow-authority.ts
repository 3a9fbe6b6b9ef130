import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Logger } from '@sandlot/std';

/** A program gets no variable above 128 KiB, and the daemon takes 64 KiB: an authority above them would keep Pods from starting. */
const MOST_BYTES = 32 * 1_024;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * Follows the file with the authority of the egress proxy, which the kubelet renews while this process runs. The result
 * returns the certificates in it, several while the authority is rotated, and nothing else that stands there. It returns an
 * empty text, and logs why, if the file cannot be used: Pods then start without trust, and their programs refuse inspected hosts.
 */
export function followAuthority(file: string | undefined, log: Logger): (() => string) | undefined {
  if (file === undefined) return undefined;
  let seen: string | undefined;
  let authority = '';
  return () => {
    const version = findVersion(file);
    if (version === seen) return authority;
    seen = version;
    authority = '';
    try {
      authority = readCertificates(file);
      log.info({ file }, 'read the authority of the egress proxy');
    } catch (err) {
      log.error({ file, err }, 'new Pods do not trust the egress proxy: its authority cannot be read');
    }
    return authority;
  };
}

/** Changes with the file; the same text for every file that cannot be looked at. */
function findVersion(file: string): string {
  try {
    const { ino, mtimeMs, size } = statSync(file);
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return 'none';
  }
}

function readCertificates(file: string): string {
  const found = readFileSync(file, 'utf8').match(CERTIFICATE) ?? [];
  if (found.length === 0) throw new Error('there is no certificate in it');
  for (const certificate of found) new X509Certificate(certificate);
  const text = found.map((certificate) => `${certificate}\n`).join('');
  if (text.length > MOST_BYTES) throw new Error(`its certificates have more than ${MOST_BYTES} bytes`);
  return text;
}

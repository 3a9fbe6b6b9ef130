import { execOrThrow } from './process/exec.ts';

/** A certificate to issue, good as server and as client. */
export interface CertificateRequest {
  /** File name without extension. */
  name: string;
  /** The user name when used as a client. */
  commonName: string;
  /** The groups when used as a client. */
  organizations?: readonly string[];
  dnsNames?: readonly string[];
  ips?: readonly string[];
}

/** What `issueCertificates` writes and where. */
export interface PkiRequest {
  /** Holds ca.crt and ca.key, made when absent. */
  dir: string;
  /** Signing keys NAME.key and NAME.pub, made when absent. */
  keys?: readonly string[];
  certificates: readonly CertificateRequest[];
}

/** Writes NAME.crt and NAME.key for every request, signed by the folder's own authority. */
export async function issueCertificates(pki: string, request: PkiRequest): Promise<void> {
  await execOrThrow([pki], { input: JSON.stringify(request) });
}

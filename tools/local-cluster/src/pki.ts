import { execOrThrow } from './process/exec.ts';

/** A certificate to issue, valid for servers and clients. */
export interface CertificateRequest {
  /** File name without extension. */
  name: string;
  /** User name of the client. */
  commonName: string;
  /** Groups of the client. */
  organizations?: readonly string[];
  dnsNames?: readonly string[];
  ips?: readonly string[];
}

/** What `issueCertificates` writes, and where. */
export interface PkiRequest {
  /** Folder with ca.crt and ca.key, which are created if missing. */
  dir: string;
  /** Signing keys NAME.key and NAME.pub, which are created if missing. */
  keys?: readonly string[];
  certificates: readonly CertificateRequest[];
}

/** Writes NAME.crt and NAME.key for every certificate, signed by the folder's own CA. */
export async function issueCertificates(pki: string, request: PkiRequest): Promise<void> {
  await execOrThrow([pki], { input: JSON.stringify(request) });
}

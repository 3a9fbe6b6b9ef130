import { X509Certificate } from 'node:crypto';

/** What a decision needs of a certificate. */
export interface ReadCertificate {
  readonly fromMs: number;
  readonly untilMs: number;
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates of a PEM file, each as PEM. */
export function splitPem(text: string): readonly string[] {
  return (text.match(PEM) ?? []).map((block) => `${block}\n`);
}

/** When the first certificate of the file is valid; undefined when there is none. */
export function readCertificate(text: string): ReadCertificate | undefined {
  const certificate = parse(text);
  if (certificate === undefined) return undefined;
  return { fromMs: Date.parse(certificate.validFrom), untilMs: Date.parse(certificate.validTo) };
}

/** The authorities of a bundle that have signed the certificate. */
export function listIssuers(bundle: string, certificate: string): readonly string[] {
  const signed = parse(certificate);
  if (signed === undefined) return [];
  return splitPem(bundle).filter((block) => {
    const authority = parse(block);
    return authority !== undefined && signed.checkIssued(authority) && signed.verify(authority.publicKey);
  });
}

function parse(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}

import { z } from 'zod';

/**
 * How an entry of a Secret is made. `signing` makes two, `<name>.key` and `<name>.pub`, an Ed25519 key pair in PEM; `bytes` is
 * base64 of 32 random bytes; `tokens` is the same, with a number once it was rotated; `password` begins with a letter; `sealing` is
 * a list of keys, a line each, the first of which seals; `authority` makes `<name>.crt`, `<name>.key` and `ca.crt`, which is the
 * same certificate: an authority that keeps its key, for a process that signs with it.
 */
const recipes = ['signing', 'bytes', 'tokens', 'password', 'sealing', 'authority'] as const;
export type Recipe = (typeof recipes)[number];

const labels = z.record(z.string(), z.string()).default({});

const wantedSecret = z.object({
  name: z.string().min(1),
  /** Whether the operator brings it. Then it is checked and never written. */
  given: z.boolean().default(false),
  /** Labels of a Secret that is made. */
  labels,
  /** Entries by name. */
  entries: z.record(z.string(), z.enum(recipes)),
});

const wantedCertificate = z.object({
  /** Name of its Secret, with `ca.crt`, `tls.crt` and `tls.key`. */
  name: z.string().min(1),
  given: z.boolean().default(false),
  labels,
  /** Common name of the certificate. */
  subject: z.string().min(1),
  /** DNS names and IPv4 addresses that it is good for. */
  hosts: z.array(z.string()).min(1),
});

export const wantedCredentials = z.object({
  secrets: z.array(wantedSecret),
  /** Certificates that one authority signs together: its key is thrown away. */
  authorities: z.array(z.object({ name: z.string().min(1), certificates: z.array(wantedCertificate).min(1) })),
});

export type WantedSecret = z.output<typeof wantedSecret>;
export type WantedCertificate = z.output<typeof wantedCertificate>;
export type WantedAuthority = z.output<typeof wantedCredentials>['authorities'][number];
export type WantedCredentials = z.output<typeof wantedCredentials>;

/** The entries of the Secret under which a recipe stores what it makes. */
export function listEntries(name: string, recipe: Recipe): readonly string[] {
  if (recipe === 'authority') return [`${name}.crt`, `${name}.key`, 'ca.crt'];
  return recipe === 'signing' ? [`${name}.key`, `${name}.pub`] : [name];
}

// What E2B clients send and receive about API keys (docs/reference/e2b-api.md#api-keys-and-administration).
import { dnsLabel } from '@sandlot/tenancy';
import { z } from 'zod';

export const newName = z.strictObject({ name: z.string().min(1).max(256) });
export const keyParams = z.object({ apiKeyID: z.string().max(64) });
export const teamParams = z.object({ teamID: dnsLabel });
export const teamKeyParams = teamParams.extend(keyParams.shape);

/** Whose keys an admin means, where these are not those of his own team. */
export const teamHeader = z.object({ 'x-team-id': dnsLabel.optional() });

const mask = z.object({
  prefix: z.string(),
  valueLength: z.int(),
  maskedValuePrefix: z.string().meta({ description: 'Always empty: nothing of a key is kept.' }),
  maskedValueSuffix: z.string().meta({ description: 'Always empty.' }),
});

export const teamKey = z
  .object({
    id: z.uuid(),
    name: z.string(),
    mask,
    createdAt: z.iso.datetime({ offset: true }),
    createdBy: z.null(),
    lastUsed: z.null(),
  })
  .meta({ id: 'TeamAPIKey' });
export type TeamKey = z.output<typeof teamKey>;

export const createdTeamKey = teamKey.extend({ key: z.string() }).meta({ id: 'CreatedTeamAPIKey' });

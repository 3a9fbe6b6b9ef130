import { z } from 'zod';

const amounts = z.record(z.string(), z.union([z.string().min(1), z.number()]));

/** Requests and limits of a container by resource (`cpu`, `memory`, `ephemeral-storage`), as settings state them. */
export const containerResources = z.strictObject({ requests: amounts.optional(), limits: amounts.optional() });

export type ContainerResources = z.output<typeof containerResources>;

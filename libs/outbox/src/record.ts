import type { JsonValue } from '@sandlot/kube';
import { z } from 'zod';

/** The ledger's entry of one object. */
export interface Record {
  readonly facts: readonly string[];
  readonly about?: JsonValue | undefined;
}

const form = z.object({ facts: z.array(z.string()), about: z.json().optional() });

export function formatRecord({ facts, about }: Record): string {
  return JSON.stringify({ facts, about });
}

/** Undefined for a foreign text: the object's facts are then published again, with the same ids. */
export function parseRecord(text: string): Record | undefined {
  try {
    return form.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

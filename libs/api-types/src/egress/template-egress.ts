import type { NetworkPolicy } from '@sandlot/kube/objects';
import { z } from 'zod';
import { annotations } from '../catalogue/keys.ts';
import { headerRules } from './headers/header-rule.ts';
import type { HeaderRule, HeaderRuleSpec } from './headers/header-rule.ts';
import { findNamePattern } from './names.ts';
import type { OpenBlock } from './policy-blocks.ts';
import { findEgressBlock } from './wish.ts';

/**
 * How the sandboxes of a template use the egress proxy. `OnDemand`: those whose claim lists names. `Proxied`: all, and they
 * reach the names of the template alone, where these lead to addresses in `within`.
 */
export type TemplateEgress =
  | { readonly mode: 'OnDemand'; readonly rules?: readonly HeaderRule[] | undefined }
  | {
      readonly mode: 'Proxied';
      readonly names: readonly string[];
      readonly within: readonly OpenBlock[];
      /** Nothing is refused, and what the list does not have is reported. */
      readonly isObserved?: boolean | undefined;
      /** What the proxy does with requests to some hosts. Claims cannot change it. */
      readonly rules?: readonly HeaderRule[] | undefined;
    };

/** How an annotation that cannot be read counts: its sandboxes reach nothing. */
const NOTHING: TemplateEgress = { mode: 'Proxied', names: [], within: [] };

/** A text in its normal form; an issue if there is none. */
const normal = (find: (text: string) => string | undefined, expected: string) =>
  z.string().transform((text, context) => {
    const found = find(text);
    if (found !== undefined) return found;
    context.addIssue({ code: 'custom', message: `is not ${expected}` });
    return z.NEVER;
  });
const block = normal(findEgressBlock, 'a block of addresses');
const name = normal((text) => findNamePattern(text)?.text, 'a name');
const port = z.int().min(1).max(65_535);
const range = z.tuple([port, port]);
const egress = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('Direct') }),
  z.object({ mode: z.literal('OnDemand'), rules: headerRules.optional() }),
  z.object({
    mode: z.literal('Proxied'),
    names: z.array(name).default([]),
    isObserved: z.boolean().optional(),
    rules: headerRules.optional(),
    within: z
      .array(z.object({ cidr: block, except: z.array(block).default([]), ports: z.array(range).default([]) }))
      .default([]),
  }),
]);

/**
 * What the NetworkPolicy of a template says about the egress proxy. Undefined: the template is Direct, and its sandboxes do
 * not use the proxy.
 */
export function findTemplateEgress({ metadata }: NetworkPolicy): TemplateEgress | undefined {
  const text = metadata.annotations?.[annotations.egress];
  if (text === undefined) return undefined;
  const found = readEgress(text);
  return found.mode === 'Direct' ? undefined : found;
}

function readEgress(text: string): z.output<typeof egress> | TemplateEgress {
  try {
    return egress.safeParse(JSON.parse(text)).data ?? NOTHING;
  } catch {
    return NOTHING;
  }
}

/** {@link TemplateEgress} as it is written: the reader checks the rules, and takes ones with a mistake for a closed template. */
export type TemplateEgressNote =
  | (Omit<Extract<TemplateEgress, { mode: 'OnDemand' }>, 'rules'> & WithRules)
  | (Omit<Extract<TemplateEgress, { mode: 'Proxied' }>, 'rules'> & WithRules);
interface WithRules {
  readonly rules?: readonly HeaderRuleSpec[] | undefined;
}

/** The text of the annotation. */
export function formatTemplateEgress(said: TemplateEgressNote): string {
  return JSON.stringify(said);
}

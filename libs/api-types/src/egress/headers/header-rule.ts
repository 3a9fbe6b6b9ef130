import { z } from 'zod';
import { findNamePattern, findReservedProblem } from '../names.ts';
import { findHeaderNameProblem } from './header-name.ts';
import { HEADER_RULE_LIMITS } from './limits.ts';

const { rules, hostLength, headers, textLength, methods, paths, pathLength } = HEADER_RULE_LIMITS;
const VISIBLE = /^[\t\u0020-\u007e]*$/u;
const MAX_KEY = 253;

const text = z.string().max(textLength).regex(VISIBLE, 'has other characters than visible ASCII');
const reference = z.string().min(1).max(MAX_KEY);
const header = z
  .strictObject({
    name: z.string(),
    /** A text that is no secret. It may have markers for secrets of the vault. */
    value: text.optional(),
    /** A Secret of the same namespace, whose owner has marked it. */
    valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: reference, key: reference }) }).optional(),
    /** With `valueFrom`: the text into which the value goes in place of `{}`. */
    format: text.optional(),
    /** A key of the Secret in which the API stores what a client gave it for this claim. The value may have markers. */
    stored: z
      .string()
      .regex(/^h-[a-z0-9]{1,16}-\d{1,4}$/u)
      .optional(),
  })
  .superRefine((given, context) => {
    const problem = findHeaderProblem(given);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

const rule = z.strictObject({
  /** A name, or `*.` and a name, without a port. */
  host: z.string().transform((given, context) => {
    const found = findRuleHost(given);
    if (found !== undefined) return found;
    const reserved = findReservedProblem(given);
    const message = `is no name such as example.com or *.example.com${reserved === undefined ? '' : `: ${reserved}`}`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }),
  /** The methods that pass; empty: all. */
  methods: z
    .array(z.string().regex(/^[A-Z]{1,32}$/u))
    .max(methods)
    .default([]),
  /** The paths that pass, exact or with a final `*`; empty: all. */
  paths: z
    .array(
      z
        .string()
        .max(pathLength)
        .regex(/^\/[\u0021-\u007e]*$/u),
    )
    .max(paths)
    .default([]),
  headers: z.array(header).max(headers).default([]),
});

/** What the egress proxy does with requests to the hosts of a pattern: it refuses some, and sets headers in the others. */
export type HeaderRule = z.output<typeof rule>;
export type RuleHeader = z.output<typeof header>;
/** A {@link HeaderRule} as users write it. */
export type HeaderRuleSpec = z.input<typeof rule>;

/** A set of rules, with each host once and each header of a host once. */
export const headerRules = z
  .array(rule)
  .max(rules)
  .superRefine((all, context) => {
    const problem = findRepeat(all);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

/** Where the value of a header comes from. */
export type HeaderSource =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'secret'; readonly name: string; readonly key: string; readonly format: string }
  | { readonly kind: 'stored'; readonly key: string };

/** Says of a header of {@link headerRules} where its value comes from. */
export function getHeaderSource({ value = '', valueFrom, format = '{}', stored }: RuleHeader): HeaderSource {
  if (valueFrom !== undefined) return { kind: 'secret', ...valueFrom.secretKeyRef, format };
  return stored === undefined ? { kind: 'text', text: value } : { kind: 'stored', key: stored };
}

/** The host of a rule in its normal form; undefined if no rule can have it. */
export function findRuleHost(given: string): string | undefined {
  const pattern = given.length > hostLength ? undefined : findNamePattern(given);
  return pattern === undefined || pattern.port !== undefined || pattern.name === '' ? undefined : pattern.text;
}

/** Whether every host of the pattern `host` belongs to the pattern `wide`. */
export function coversHost(wide: string, host: string): boolean {
  return wide === host || (wide.startsWith('*.') && host.replace(/^\*\./u, 'x.').endsWith(wide.slice(1)));
}

/** The first rule whose hosts are among those of another set, in part or whole; undefined: there is none. */
export function findOverlap(some: readonly HeaderRule[], others: readonly HeaderRule[]): HeaderRule | undefined {
  return some.find((one) =>
    others.some((other) => coversHost(one.host, other.host) || coversHost(other.host, one.host)),
  );
}

function findHeaderProblem({ name, value, valueFrom, format, stored }: RuleHeader): string | undefined {
  const problem = findHeaderNameProblem(name);
  if (problem !== undefined) return `header ${JSON.stringify(name)} ${problem}`;
  const sources = [value, valueFrom, stored].filter((source) => source !== undefined);
  if (sources.length !== 1) return `header "${name}" needs either value or valueFrom`;
  if (format === undefined) return undefined;
  if (valueFrom === undefined) return `header "${name}" has a format and no valueFrom`;
  return format.split('{}').length === 2 ? undefined : `the format of header "${name}" needs {} exactly once`;
}

/** Servers read some spellings of a header alike. */
function findRepeat(all: readonly HeaderRule[]): string | undefined {
  const host = findTwice(all.map((each) => each.host));
  if (host !== undefined) return `host "${host}" has two rules`;
  for (const each of all) {
    const name = findTwice(each.headers.map((one) => one.name.toLowerCase().replaceAll('_', '-')));
    if (name !== undefined) return `host "${each.host}" has two headers ${name}`;
  }
  return undefined;
}

function findTwice(texts: readonly string[]): string | undefined {
  return texts.find((one, index) => texts.indexOf(one) !== index);
}

/**
 * How Pods of a template reach names. `Direct`: not at all, their NetworkPolicy alone decides over addresses. `OnDemand`: they
 * ask the egress resolver, and a claim may close its sandbox but for names. `Proxied`: all of them are closed but for the
 * template's names.
 */
export const egressModes = ['Direct', 'OnDemand', 'Proxied'] as const;
export type EgressMode = (typeof egressModes)[number];

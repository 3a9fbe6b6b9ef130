/** Limits of a set of rules. Those of hosts, headers and texts are E2B's. */
export const HEADER_RULE_LIMITS = {
  rules: 10,
  hostLength: 128,
  headers: 20,
  textLength: 2_048,
  methods: 10,
  paths: 20,
  pathLength: 256,
} as const;

/** Begins the keys of OpenKruise Agents in metadata (docs/reference/e2b-api.md#extension-keys). */
export const CONTROL_PREFIX = 'e2b.agents.kruise.io/';

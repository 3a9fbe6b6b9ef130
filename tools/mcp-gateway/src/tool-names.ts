// Under which names clients see the tools of all servers.

/** A tool of a server. */
export interface ToolOf {
  readonly server: string;
  readonly tool: string;
}

/**
 * Gives each tool a name of its own. A name that one server alone has stays as it is; one that several have gets the server's
 * name before it, `<server>_<tool>`, for all of them. The names depend on the configuration alone, not on who started first.
 */
export function nameTools(tools: readonly ToolOf[]): ReadonlyMap<string, ToolOf> {
  const prefixed = new Set<ToolOf>();
  for (;;) {
    const named = Map.groupBy(tools, (tool) => (prefixed.has(tool) ? formatPrefixed(tool) : tool.tool));
    const clashing = [...named.values()].filter((group) => group.length > 1).flat();
    const fresh = clashing.filter((tool) => !prefixed.has(tool));
    // Names of servers have no underscore, so two names with a prefix never clash.
    if (fresh.length === 0)
      return new Map([...named].flatMap(([name, [tool]]) => (tool === undefined ? [] : [[name, tool]])));
    for (const tool of fresh) prefixed.add(tool);
  }
}

const formatPrefixed = ({ server, tool }: ToolOf): string => `${server}_${tool}`;

// The tools of all servers, as one server offers them.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra, RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import type {
  CallToolRequest,
  Result,
  ServerNotification,
  ServerRequest,
  Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { GatewayError, quote } from './errors.ts';
import { nameTools } from './tool-names.ts';
import type { ToolOf } from './tool-names.ts';
import type { Upstream } from './upstream.ts';

type Params = CallToolRequest['params'];
type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

export class Toolbox {
  readonly #upstreams: ReadonlyMap<string, Upstream>;

  constructor(upstreams: readonly Upstream[]) {
    this.#upstreams = new Map(upstreams.map((upstream) => [upstream.name, upstream]));
  }

  /** Every tool, under a name that no other one has. */
  async list(): Promise<readonly Tool[]> {
    await Promise.all([...this.#upstreams.values()].map((upstream) => upstream.tryToList()));
    return [...this.#names()].flatMap(([name, { server, tool }]) => {
      const found = this.#upstreams.get(server)?.tools.find((candidate) => candidate.name === tool);
      return found === undefined ? [] : [{ ...found, name }];
    });
  }

  /** Calls a tool by that name. A server that ended is a failed result, which the model sees. Throws McpError. */
  async call(params: Params, options: RequestOptions): Promise<Result> {
    const found = this.#names().get(params.name);
    const upstream = found === undefined ? undefined : this.#upstreams.get(found.server);
    if (found === undefined || upstream === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `there is no tool ${quote(params.name)}`);
    }
    try {
      return await upstream.call({ ...params, name: found.tool }, options);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return { content: [{ type: 'text', text: error.message }], isError: true };
    }
  }

  #names(): ReadonlyMap<string, ToolOf> {
    const all = [...this.#upstreams.values()];
    return nameTools(all.flatMap(({ name, tools }) => tools.map((tool) => ({ server: name, tool: tool.name }))));
  }
}

/** Builds the server of one request. */
// eslint-disable-next-line @typescript-eslint/no-deprecated -- the high-level class wants a schema in zod of each tool; these have JSON schemas
export function buildServer(toolbox: Toolbox): Server {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- as above
  const server = new Server({ name: 'mcp-gateway', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [...(await toolbox.list())] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => toolbox.call(params, relay(params, extra)));
  return server;
}

/** Ends the call with the request, and hands its progress on if the client asked for it. */
function relay(params: Params, { signal, sendNotification }: Extra): RequestOptions {
  const progressToken = params._meta?.progressToken;
  if (progressToken === undefined) return { signal };
  return {
    signal,
    onprogress: (progress) => {
      const notification = { method: 'notifications/progress', params: { ...progress, progressToken } } as const;
      // The client may be gone.
      sendNotification(notification).catch(() => undefined);
    },
  };
}

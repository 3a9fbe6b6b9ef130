import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { readAccess } from '../sdk/client.ts';

/** Where the MCP gateway of a sandbox is, and what a client sends along. */
export interface McpAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The address of a sandbox's MCP gateway in an installation with one URL: headers name the sandbox and the port. */
export async function addressMcp(sandboxId: string, token: string): Promise<McpAddress> {
  const headers = { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': '50005', Authorization: `Bearer ${token}` };
  return { url: new URL('/mcp', (await readAccess()).sandboxUrl).href, headers };
}

/** The official client of MCP, connected. Disposing closes it. */
export async function connectMcp({ url, headers }: McpAddress): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: 'sandlot-test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** Calls a tool and returns the text of its result, or throws it if the tool says that it failed. */
export async function callTool(client: Client, name: string, given: Record<string, unknown> = {}): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: given });
  const text = (content as readonly { readonly text: string }[]).map((part) => part.text).join('');
  if (isError === true) throw new Error(text);
  return text;
}

// A server with tools that break it.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

if (process.argv[2] === 'broken') {
  process.stderr.write('fragile: no such folder\n');
  process.exit(1);
}

const server = new McpServer({ name: 'fragile', version: '1' });
const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });

server.registerTool('pid', {}, () => say(String(process.pid)));
server.registerTool('environment', {}, () => say(JSON.stringify(process.env)));
server.registerTool('die', {}, () => {
  process.stderr.write('fragile: out of luck\n');
  process.exit(3);
});
server.registerTool('flood', {}, () => {
  process.stdout.write(Buffer.alloc(11 * 1024 * 1024, 'x'));
  return say('never seen');
});
const released = Promise.withResolvers<undefined>();
server.registerTool('hold', {}, async ({ _meta, sendNotification }) => {
  const progressToken = _meta?.progressToken ?? '';
  await sendNotification({ method: 'notifications/progress', params: { progress: 1, total: 2, progressToken } });
  await released.promise;
  return say('released');
});
server.registerTool('release', {}, () => {
  released.resolve(undefined);
  return say('done');
});
await server.connect(new StdioServerTransport());

import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { forNode } from './bundle.ts';
import { checkoutRoot } from './paths.ts';

/** Servers in JavaScript of the image `mcp-gateway`, by the names of the catalogue, and their packages. */
export const mcpServers = [
  { name: 'filesystem', package: 'server-filesystem' },
  { name: 'memory', package: 'server-memory' },
  { name: 'sequentialthinking', package: 'server-sequential-thinking' },
] as const;

/** Bundles the gateway and each server into one file of `tools/mcp-gateway/dist`. */
export async function bundleMcp(): Promise<void> {
  const folder = join(checkoutRoot, 'tools/mcp-gateway');
  const packages = join(checkoutRoot, 'node_modules/@modelcontextprotocol');
  const servers = mcpServers.map((server) => ({
    in: join(packages, server.package, 'dist/index.js'),
    out: `servers/${server.name}`,
  }));
  await build({
    ...forNode,
    entryPoints: [{ in: join(folder, 'src/main.ts'), out: 'gateway' }, ...servers],
    outdir: join(folder, 'dist'),
    absWorkingDir: folder,
    outExtension: { '.js': '.mjs' },
    sourcemap: false,
  });
  // One of them reads its version from beside its program.
  await mkdir(join(folder, 'dist/servers'), { recursive: true });
  await copyFile(join(packages, 'server-sequential-thinking/package.json'), join(folder, 'dist/servers/package.json'));
}

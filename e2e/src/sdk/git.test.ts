import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSandbox } from '../support/sdk/client.ts';

let sandbox: Sandbox & AsyncDisposable;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

/** The client marks its git module as deprecated; older agents use it. */
type Older = { readonly [name in 'git']: Sandbox[name] };

it('git works: init, commit, branches, remotes, push, clone and pull', async () => {
  const { files } = sandbox;
  const { git }: Older = sandbox;
  await git.configureUser('Ana', 'ana@example.com');
  await git.init('/home/user/origin.git', { bare: true, initialBranch: 'main' });
  await git.init('/home/user/work', { initialBranch: 'main' });
  await files.write('/home/user/work/a.txt', 'one\n');
  expect((await git.status('/home/user/work')).fileStatus).toMatchObject([{ name: 'a.txt', status: 'untracked' }]);
  await git.add('/home/user/work');
  await git.commit('/home/user/work', 'first');
  expect(await git.status('/home/user/work')).toMatchObject({ isClean: true, currentBranch: 'main' });
  await git.createBranch('/home/user/work', 'side');
  expect(await git.branches('/home/user/work')).toEqual({ branches: ['main', 'side'], currentBranch: 'side' });
  await git.checkoutBranch('/home/user/work', 'main');
  await git.deleteBranch('/home/user/work', 'side');
  await git.remoteAdd('/home/user/work', 'origin', '/home/user/origin.git');
  expect(await git.remoteGet('/home/user/work', 'origin')).toBe('/home/user/origin.git');
  await git.push('/home/user/work', { remote: 'origin', branch: 'main' });
  await git.clone('/home/user/origin.git', { path: '/home/user/copy' });
  expect(await files.read('/home/user/copy/a.txt')).toBe('one\n');
  await files.write('/home/user/work/a.txt', 'two\n');
  await git.add('/home/user/work', { files: ['a.txt'] });
  await git.commit('/home/user/work', 'second', { authorName: 'Ben', authorEmail: 'ben@example.com' });
  await git.push('/home/user/work', { remote: 'origin', branch: 'main' });
  await git.pull('/home/user/copy');
  expect(await files.read('/home/user/copy/a.txt')).toBe('two\n');
  const { stdout } = await sandbox.commands.run('git log -1 --format=%an', { cwd: '/home/user/copy' });
  expect(stdout).toBe('Ben\n');
});

it('git resets, restores, keeps its configuration and stores credentials', async () => {
  const { files } = sandbox;
  const { git }: Older = sandbox;
  const path = '/home/user/undone';
  await git.configureUser('Ana', 'ana@example.com');
  await git.init(path, { initialBranch: 'main' });
  for (const content of ['one\n', 'two\n']) {
    await files.write(`${path}/a.txt`, content);
    await git.add(path);
    await git.commit(path, content.trim());
  }
  await files.write(`${path}/a.txt`, 'spoiled\n');
  await git.restore(path, { paths: ['a.txt'] });
  expect(await files.read(`${path}/a.txt`)).toBe('two\n');
  await git.reset(path, { mode: 'hard', target: 'HEAD~1' });
  expect(await files.read(`${path}/a.txt`)).toBe('one\n');

  await git.setConfig('pull.rebase', 'true', { scope: 'local', path });
  expect(await git.getConfig('pull.rebase', { scope: 'local', path })).toBe('true');
  expect(await git.getConfig('pull.rebase', { scope: 'global' })).toBeUndefined();

  await git.dangerouslyAuthenticate({ username: 'ana', password: 'only-a-test', host: 'git.example.com' });
  const asked = await sandbox.commands.run(
    `printf 'protocol=https\\nhost=git.example.com\\n\\n' | git credential fill`,
  );
  expect(asked.stdout).toContain('username=ana\npassword=only-a-test\n');
});

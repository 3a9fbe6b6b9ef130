import { Template } from 'e2b';
import type { TemplateBuilder } from 'e2b';
import { WORDS } from './context.ts';
import { BASE_IMAGE } from './templates.ts';

/** What `setEnvs` hands on as it is, beside the variables it names. */
const LITERAL = 'a "b" \'c\' $(no) `no`';

const AS_ROOT = { user: 'root' };
const WHEEL = '/srv/sandlot_hello-1-py3-none-any.whl';
const MAKE_ORIGIN = [
  'git init --quiet --initial-branch main /home/user/origin',
  'cd /home/user/origin',
  'git -c user.name=a -c user.email=a@example.com commit --quiet --allow-empty --message first',
  'git branch side',
];

/** A template with every call of the client that makes a step, and that an image with Python and git can carry out without a network. */
export function buildEveryStep(folder: string): TemplateBuilder {
  return (
    Template({ fileContextPath: folder })
      .fromImage(BASE_IMAGE)
      // No other run has it, so that no step comes from the cache.
      .setEnvs({ FIRST: String(process.pid) })
      .copy('empty.txt', 'copied/empty.txt')
      .copy('tree', '/srv/tree', { ...AS_ROOT, mode: 0o750 })
      .copyItems([
        { src: 'link', dest: '/srv/link' },
        { src: 'link', dest: '/srv/resolved', resolveSymlinks: true, gzip: false },
      ])
      .copy('a name.txt', 'spaced/')
      .copy('conf/*.conf', '/srv/conf')
      .copy('bin', '/usr/local/bin', AS_ROOT)
      .setEnvs({ SECOND: '$FIRST and ${FIRST}', LITERAL })
      .runCmd('printf "%s|%s" "$SECOND" "$LITERAL" > environment')
      .runCmd(['cd /srv', 'id -un > who'], AS_ROOT)
      .makeDir('made/dir', { mode: 0o700 })
      .makeSymlink('made', 'to-made')
      .rename('copied/empty.txt', 'copied/renamed.txt')
      .remove('/srv/conf/b.conf', AS_ROOT)
      .runCmd(MAKE_ORIGIN)
      .gitClone('file:///home/user/origin', 'clone', { branch: 'side', depth: 1 })
      .copy('wheel', '/srv/wheel', AS_ROOT)
      .runCmd(`cd /srv/wheel && python3 -m zipfile -c ${WHEEL} sandlot_hello.py sandlot_hello-1.dist-info`, AS_ROOT)
      .pipInstall(['--no-index', WHEEL])
      .npmInstall('left-pad', { g: true })
      .bunInstall(['left-pad', 'right-pad'], { dev: true })
      .runCmd('make-repository', AS_ROOT)
      // The list of packages is behind this step, so that the next one needs no network.
      .aptInstall('sandlot-hello', { noInstallRecommends: true })
      .setUser('ana')
      .setWorkdir('/work')
      .setWorkdir('inner')
      .runCmd('pwd > where')
  );
}

/** What the sandbox says of the files: rights, owner and path, with the target of a link. */
export const FILES_OF_EVERY_STEP = `
-rw-r----- user:user '/home/user/copied/renamed.txt'
drwxr-x--- root:root '/srv/tree'
-rwxr-x--- root:root '/srv/tree/deep/two.txt'
lrwxrwxrwx user:user '/srv/link' -> 'words.txt'
-rw-r----- user:user '/srv/resolved'
-rw-r----- user:user '/home/user/spaced/a name.txt'
-rw-r----- user:user '/srv/conf/a.conf'
-rwxr-xr-x root:root '/usr/local/bin/hello'
-rw-r--r-- root:root '/srv/who'
drwx------ user:user '/home/user/made/dir'
lrwxrwxrwx user:user '/home/user/to-made' -> 'made'
drwxr-xr-x ana:ana '/work/inner'
-rw-r--r-- ana:ana '/work/inner/where'
`;

/** What the sandbox says in them. */
export const CONTENTS_OF_EVERY_STEP: Readonly<Record<string, string>> = {
  '/srv/tree/deep/two.txt': 'two\n',
  '/srv/resolved': WORDS,
  '/home/user/spaced/a name.txt': 'spaced\n',
  '/home/user/environment': `${process.pid} and ${process.pid}|${LITERAL}`,
  '/srv/who': 'root\n',
  '/usr/share/sandlot-hello': 'from a package\n',
  '/tmp/asked-npm': 'root: install -g left-pad\n',
  '/tmp/asked-bun': 'user: install --dev left-pad right-pad\n',
  '/work/inner/where': '/work/inner\n',
};

import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const WHEEL = `Wheel-Version: 1.0
Generator: hand
Root-Is-Purelib: true
Tag: py3-none-any
`;

/** Says as whom and with what it was called, in place of a program that the image lacks. */
const STAND_IN = '#!/bin/sh\necho "$(id -un): $*" > "/tmp/asked-$(basename "$0")"\n';

/** Makes a Debian package, and a folder that apt takes packages from without a network. */
const MAKE_REPOSITORY = `#!/bin/sh
set -e
mkdir -p /srv/packages /tmp/package/DEBIAN /tmp/package/usr/share
echo from a package > /tmp/package/usr/share/sandlot-hello
cat > /tmp/package/DEBIAN/control << 'END'
Package: sandlot-hello
Version: 1
Architecture: all
Maintainer: a <a@example.com>
Description: a file
END
dpkg-deb --build /tmp/package /srv/packages/sandlot-hello.deb
cd /srv/packages
{
  cat /tmp/package/DEBIAN/control
  echo 'Filename: ./sandlot-hello.deb'
  echo "Size: $(stat -c %s sandlot-hello.deb)"
  echo "SHA256: $(sha256sum sandlot-hello.deb | cut -d ' ' -f 1)"
} > Packages
rm -f /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/packages ./' > /etc/apt/sources.list
`;

/** No other run has a file like it, so that the cluster has neither it nor what was built with it. */
export const WORDS = `words of ${process.pid}\n`;

/** Files by path. Those whose path begins with `bin/` can be executed. */
const FILES: Readonly<Record<string, string>> = {
  'empty.txt': '',
  'words.txt': WORDS,
  'a name.txt': 'spaced\n',
  'tree/one.txt': 'one\n',
  'tree/deep/two.txt': 'two\n',
  'conf/a.conf': 'a\n',
  'conf/b.conf': 'b\n',
  'conf/other.txt': 'other\n',
  'bin/hello': '#!/bin/sh\necho hello\n',
  'bin/npm': STAND_IN,
  'bin/bun': STAND_IN,
  'bin/make-repository': MAKE_REPOSITORY,
  'wheel/sandlot_hello.py': 'GREETING = "from a wheel"\n',
  'wheel/sandlot_hello-1.dist-info/METADATA': 'Metadata-Version: 2.1\nName: sandlot-hello\nVersion: 1\n',
  'wheel/sandlot_hello-1.dist-info/WHEEL': WHEEL,
  'wheel/sandlot_hello-1.dist-info/RECORD': 'sandlot_hello.py,,\n',
};

/** Fills a folder with what templates copy: an empty file, a link, programs, a name with a space, and files for a glob. */
export async function fillContext(folder: string): Promise<void> {
  for (const [name, content] of Object.entries(FILES)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    await chmod(path, name.startsWith('bin/') ? 0o755 : 0o640);
  }
  await symlink('words.txt', join(folder, 'link'));
}

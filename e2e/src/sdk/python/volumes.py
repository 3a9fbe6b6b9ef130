"""Volumes by the stock `e2b` client for Python."""

import os
import unittest

from e2b import Sandbox, Volume
from e2b.exceptions import NotFoundException

RUN = str(os.getpid())
MIB = 1 << 20


class Volumes(unittest.TestCase):
    def test_files_of_a_volume_and_a_sandbox_that_mounts_it(self):
        volume = Volume.create(f"e2e-python-{RUN}")
        try:
            self.assertFalse(volume.exists("/a"))
            self.assertEqual(volume.write_file("/a", b"x" * (3 * MIB)).size, 3 * MIB)
            self.assertEqual(len(volume.read_file("/a", format="bytes")), 3 * MIB)
            volume.make_dir("/d/e", force=True)
            volume.write_file("/d/e/f", "text")
            paths = [entry.path for entry in volume.list("/", depth=5)]
            self.assertEqual(paths, ["/a", "/d", "/d/e", "/d/e/f"])
            self.assertEqual(volume.get_info("/d/e/f").size, 4)
            self.assertEqual(volume.update_metadata("/d/e/f", mode=0o600).mode & 0o777, 0o600)
            sandbox = Sandbox.create("base", volume_mounts={"/data": volume}, timeout=300)
            try:
                sandbox.commands.run("cp /data/d/e/f /data/copy && echo more >> /data/copy")
                self.assertEqual(volume.read_file("/copy"), "textmore\n")
            finally:
                sandbox.kill()
            volume.remove("/d")
            self.assertFalse(volume.exists("/d/e/f"))
            with self.assertRaises(Exception):
                volume.remove("/")
        finally:
            for _ in range(50):
                try:
                    Volume.destroy(volume.volume_id)
                    break
                except Exception:
                    pass
        with self.assertRaises(NotFoundException):
            volume.read_file("/a")

    def test_volumes_are_listed_and_connected_to(self):
        volume = Volume.create(f"e2e-python-list-{RUN}")
        self.assertIn(volume.volume_id, [each.volume_id for each in Volume.list()])
        again = Volume.connect(volume.volume_id)
        again.write_file("/a", "x")
        self.assertEqual(volume.read_file("/a"), "x")
        self.assertTrue(Volume.destroy(volume.volume_id))
        self.assertFalse(Volume.destroy(volume.volume_id))

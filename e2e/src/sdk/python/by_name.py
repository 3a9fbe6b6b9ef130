"""The stock `e2b` client with only a domain: host names lead to the gateway over TLS."""

import os
import ssl
import time
import unittest
from urllib.request import ProxyHandler, Request, HTTPSHandler, build_opener
from urllib.error import HTTPError

from e2b import Sandbox

OPTIONS = {"proxy": os.environ["PROXY"]}


def fetch(url, data=None):
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    opener = build_opener(ProxyHandler({"https": os.environ["PROXY"]}), HTTPSHandler(context=context))
    try:
        with opener.open(Request(url, data=data)) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


class ByName(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox.create("base", timeout=300, **OPTIONS)
        cls.addClassCleanup(cls.sandbox.kill)

    def test_commands_and_files(self):
        self.sandbox.files.write("note.txt", "by name")
        self.assertEqual(self.sandbox.commands.run("cat note.txt").stdout, "by name")
        other = Sandbox.connect(self.sandbox.sandbox_id, **OPTIONS)
        self.assertEqual(other.files.read("note.txt"), "by name")

    def test_host_of_a_port(self):
        host = self.sandbox.get_host(8000)
        self.assertEqual(host, f"8000-{self.sandbox.sandbox_id}.{os.environ['E2B_DOMAIN']}")
        self.sandbox.files.write("site/index.html", "served")
        self.sandbox.commands.run("python3 -m http.server 8000 --directory site", background=True, timeout=0)
        end = time.monotonic() + 30
        while (answer := fetch(f"https://{host}/index.html"))[0] != 200 and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(answer, (200, b"served"))

    def test_signed_urls(self):
        self.sandbox.files.write("signed.txt", "signed")
        url = self.sandbox.download_url("signed.txt", use_signature_expiration=60)
        self.assertEqual(fetch(url), (200, b"signed"))
        self.assertEqual(fetch(self.sandbox.download_url("signed.txt", use_signature_expiration=-5))[0], 401)
        self.assertEqual(fetch(url.replace("signed.txt", "other.txt"))[0], 401)

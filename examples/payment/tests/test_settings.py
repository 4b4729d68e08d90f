import tempfile
import unittest
from pathlib import Path

from service.settings import Settings, SettingsError


class SettingsTest(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "service.toml"
            path.write_text(text)
            return Settings.read(path)

    def test_sections_do_not_matter(self):
        settings = self.read("[a]\none = 1\n[b]\ntwo = 2\n")
        self.assertEqual((settings["one"], settings["two"]), (1, 2))

    def test_a_missing_setting_is_named(self):
        with self.assertRaisesRegex(SettingsError, "three is not set"):
            self.read("[a]\none = 1\n")["three"]

    def test_a_setting_is_set_once(self):
        with self.assertRaisesRegex(SettingsError, "one is set twice"):
            self.read("[a]\none = 1\n[b]\none = 2\n")


if __name__ == "__main__":
    unittest.main()

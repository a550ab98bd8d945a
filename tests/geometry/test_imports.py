import subprocess
import sys


def test_optional_packages_are_not_imported():
    code = (
        "import sys, hooke.geometry, hooke.importers; "
        "print([n for n in ('pxr', 'trimesh', 'scipy', 'imageio', 'PIL', 'networkx') if n in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"

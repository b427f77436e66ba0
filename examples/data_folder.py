"""The folder with the tables of an example, which is named on the command line."""

import sys
from pathlib import Path


def data_folder(*files: str) -> Path:
    """The folder that the user names; the program stops with a message where it lacks one of the files."""
    if len(sys.argv) != 2:
        sys.exit(f"Name a folder that holds {', '.join(files)}: python {sys.argv[0]} FOLDER")
    folder = Path(sys.argv[1])
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        sys.exit(f"{folder} does not hold {', '.join(missing)}, which this example reads.")
    return folder

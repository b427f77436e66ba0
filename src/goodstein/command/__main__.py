"""``python -m goodstein.command``, the same as ``goodstein``."""

from goodstein.command.main import main

if __name__ == "__main__":
    main()

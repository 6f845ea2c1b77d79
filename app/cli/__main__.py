"""Entry point of `python -m app.cli`, the same as `tollgate`."""

from app.cli.main import main

if __name__ == "__main__":
    main()

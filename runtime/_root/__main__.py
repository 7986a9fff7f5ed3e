"""`python -m pointsman`: the same command line as the `pointsman` script."""

from pointsman import refuse_optimized_python

refuse_optimized_python()  # before the imports below: they may already rely on assertions

from pointsman.runtime.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()

"""Workflow files of other tools, as they lie in people's repositories, and what each is told."""

FOREIGN = {
    "github-actions.yaml": (
        "GitHub Actions",
        """\
name: CI
on:
  push: {branches: [main]}
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: make test
""",
    ),
    "gitlab-ci.yaml": (
        "GitLab CI",
        "stages: [build, test]\nbuild:\n  stage: build\n  script:\n    - make\n",
    ),
    "argo.yaml": (
        "Argo",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {entrypoint: main}\n",
    ),
    "compose.yaml": ("Docker Compose", "services:\n  web:\n    image: nginx\n"),
    "circleci.yaml": ("CircleCI", "version: 2.1\njobs:\n  build:\n    docker: []\n"),
    "pre-commit.yaml": ("pre-commit", "repos:\n  - repo: local\n    hooks: []\n"),
    "cezar.yaml": ("no key 'pointsman'", "name: build\nsteps:\n  - prompt: Do it. CEZ:DONE\n"),
    "notes.yaml": ("a mapping", "- buy milk\n- write tests\n"),
}

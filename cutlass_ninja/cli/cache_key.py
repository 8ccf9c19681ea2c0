"""`cutlass-ninja cache-key`: what a CI cache should be keyed on."""

from __future__ import annotations

from collections.abc import Sequence

from .. import cache_key, generate
from .arguments import add_archs, add_compile, add_manifests, add_only, add_tools, parser, request

_DESCRIPTION = """\
Print a name for the content that cache/ has when all kernels of the manifests are built: equal names, equal content. It
is of one line, without spaces or commas, as CI services take it for the key of a cache.

  cutlass-ninja-<machine>-nvcc<release>-cutlass<version>-<tools>-<content>

<tools> digests what goes into each key: the versions of all tools, the environment variables that the compilers heed,
and the format of keys. When it changes, every kernel is built again. <content> digests the keys of all kernels and of
the harness. --restore-prefix prints the name without <content>: a cache whose name begins so was made with the same
tools, and the most recent one spares the most work."""

_EPILOG = """\
GitHub Actions (the whole workflow is examples/github-actions.yml in cutlass-ninja's repository):
  key=$(cutlass-ninja cache-key kernels.yaml)                       key: ${{ ... key }}
  prefix=$(cutlass-ninja cache-key --restore-prefix kernels.yaml)   restore-keys: ${{ ... prefix }}"""


def run(arguments: Sequence[str]) -> int:
    """The command `cache-key`. Raises CutlassNinjaError."""
    parsed = parser("cache-key", _DESCRIPTION, _EPILOG)
    add_manifests(parsed)
    add_archs(parsed)
    add_only(parsed)
    add_tools(parsed)
    add_compile(parsed)
    parsed.add_argument("--restore-prefix", action="store_true", help="print only what equally made caches begin with")
    options = parsed.parse_args(arguments)
    asked = request(options)
    selection = generate.select(asked)
    made = cache_key.cache_key(selection.kernels.values(), generate.find_toolchain(asked, selection))
    print(made.prefix if options.restore_prefix else made.prefix + made.content)
    return 0

"""What a model is asked once: its product stands in a file, by what it was shown, with what was sent back on the way."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from finassay.api.errors import InvalidFileError
from finassay_rubrics.generate.folder import RubricFolder


class Product(Protocol):
    """What a look or a composition gave."""

    @property
    def failed(self) -> str: ...


P = TypeVar("P", bound=Product)


def once(
    folder: RubricFolder,
    kind: str,
    shown: Mapping[str, Any],
    call: Callable[[], P],
    data: Callable[[P], dict[str, Any]],
    product: Callable[[dict[str, Any]], P],
    failed: dict[str, Any],
) -> P:
    """The product of `call` for what is shown, kept in `KIND/DIGEST.json` as `data` gives it; `product` reads that.

    A product that failed is written down, and asked for again only by another process: `failed` are those of this one. Raises what `call`
    raises.
    """
    digest = hashlib.sha256(json.dumps(shown, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
    name = f"{kind}/{digest[:16]}.json"
    if folder.has(name):
        kept = folder.read(name)
        try:
            found = product({key: value for key, value in kept.items() if key != "shown_sha256"})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidFileError(f"{folder.root / name}: cannot be read: {error}"[:300]) from error
        if kept.get("shown_sha256") == digest and not found.failed:
            return found
    made: P = failed[name] if name in failed else call()
    if made.failed:
        failed[name] = made
    folder.write(name, {"shown_sha256": digest, **data(made)})
    return made

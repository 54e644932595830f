"""Shapes and types of arrays in signatures: jaxtyping's for type checkers, plain `typing.Annotated` when run."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxtyping import Array as Array
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
    from jaxtyping import Real as Real
else:
    from typing import Annotated as Bool
    from typing import Annotated as Float
    from typing import Annotated as Int
    from typing import Annotated as Real

    from jax import Array as Array

__all__ = ["Array", "Bool", "Float", "Int", "Real"]

"""Typeset mathematics: MathML of the formulas that claims and certificates carry, which are text in one notation.

The notation is the usual one of plain text: `e^(n eps)`, `r'_i`, `sum_{i<=k} s_i`, `|x|`, `Pr[Y | V]`, `a / b`. A slash
without spaces binds what touches it, as in `4k RS/eps`; one between spaces divides the products beside it. `mu^` and
`R~` wear a hat and a tilde. Words stay words.
"""

import re
from dataclasses import dataclass
from html import escape

_TOKEN = re.compile(
    r"(?P<space>\s*)(?:(?P<number>\d+(?:\.\d+)?)|"
    r"(?P<name>[A-Z]{1,3}(?:-[A-Z0-9]{2,}(?:-[A-Z0-9]+)*)|eps-DP|[a-z]{3,}(?:-[a-z]{4,}|'s)(?![A-Za-z])|[A-Za-z]+\d*)"
    r"|(?P<mark><=|<-|>=|!=|==|->|\+-|\.{2,3}|\|\||\S))"
)
_GREEK = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "zeta": "ζ", "eta": "η"},
    **{"theta": "θ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ"},
    **{"phi": "φ", "chi": "χ", "omega": "ω", "Delta": "Δ", "Theta": "Θ", "Omega": "Ω", "Phi": "Φ", "Sigma": "Σ"},
    "eps-DP": "ε-DP",
}
_WORDS = {"in": "∈", "implies": "⟹", "iff": "⟺", "subset": "⊆"}
_MARKS = {
    **{"<=": "≤", ">=": "≥", "!=": "≠", "<-": "←", "->": "→", "+-": "±", "-": "−", "*": "·", "~": "∼"},
    **{"...": "…", "..": "…"},
}
_RELATIONS = {*"<>=~", "<=", ">=", "!=", "==", "<-", "->", "..", "..."}
_BIG = {"sum": "∑", "prod": "∏", "int": "∫", "max": "max", "min": "min", "sup": "sup", "inf": "inf"}
_FUNCTIONS = {"exp", "log", "ln", "sqrt", "det", "ceil", "floor", "abs", "Pr", "E", "tr", "rank", "diag", *_BIG}
_PRODUCT = ("factor", "function", "big")
_BESIDE_WORDS = (*_PRODUCT, "mark", "word")  # what leaves a space beside a word; relations and signs have their own
_LETTERS = re.compile("[b-df-hj-np-tv-xz]{2,3}|[A-Z]{1,2}[a-z]|[a-z][A-Z]")  # several, that are multiplied
_PAIRS = {"(": ")", "[": "]", "{": "}", "|": "|", "||": "||", "<": ">"}
_WRITTEN = {"||": "‖", "<": "⟨", ">": "⟩"}


@dataclass(frozen=True)
class _Piece:
    """A piece of a formula: its kind, its MathML, whether a space stands before it, and what a fraction leaves out."""

    kind: str  # "factor", "function", "big", "word", "mark", "relation", "sign" or "slash"
    mathml: str
    space: bool
    inner: str = ""  # what stands between the parentheses of a factor that is nothing else


def mathml(formula: str, display: str = "inline") -> str:
    """The `<math>` element of a formula, `display` "inline" or "block".

    Raises:
        ValueError: a bracket is not closed, or closed without being open.
    """
    body = _Reader(formula).row(())
    return f'<math display="{display}" displaystyle="true">{body}</math>'


class _Reader:
    """Reads a formula from left to right; brackets that are open are known from the calls that read them."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens = [
            (found["space"] != "", found[found.lastgroup or "mark"], found.lastgroup or "mark")
            for found in _TOKEN.finditer(formula.rstrip())
        ]
        self.at = 0
        self.scripted = 0  # how deep below or above other symbols: fractions keep their slash there

    def peek(self, ahead: int = 0) -> tuple[bool, str, str]:
        """Whether a space stands before the token, the token and its kind; empty behind the last."""
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else (True, "", "end")

    def row(self, closing: tuple[str, ...]) -> str:
        """The MathML of all up to a closing bracket, which is not taken."""
        pieces: list[_Piece] = []
        while True:
            _, token, kind = self.peek()
            before = pieces[-1].kind if pieces else "start"
            if kind == "end" and not closing:
                return self.joined(pieces)
            if token in closing and (token not in ("|", "||") or before in ("factor", "word")):
                return self.joined(pieces)
            if token == "||" and before == "factor" and closing == ("|",):  # one absolute value ends, the next begins
                self.tokens[self.at : self.at + 1] = [(False, "|", "mark"), (False, "|", "mark")]
                return self.joined(pieces)
            if kind == "end" or token in (")", "]", "}"):
                raise ValueError(f"{self.formula!r}: {'unclosed bracket' if kind == 'end' else f'unopened {token!r}'}")
            pieces.append(self.piece(before))

    def joined(self, pieces: list[_Piece]) -> str:
        """The pieces side by side, with fractions where slashes are."""
        for tight in () if self.scripted else (True, False):
            pieces = _fractions(pieces, tight)
        return _joined(pieces)

    def opens(self, before: str) -> bool:
        """Whether the next token is an opening bracket; bars and angles may be something else."""
        space, token, _ = self.peek()
        space_after = self.peek(1)[0]
        if token == "<":
            return before in ("start", "relation", "mark") and not space_after
        if token not in ("|", "||"):
            return token in _PAIRS
        if before in ("factor", "word"):
            return space and not space_after
        return True

    def piece(self, before: str) -> _Piece:
        """The next piece; `before`: the kind of the one that it follows."""
        space, token, kind = self.peek()
        operand = before in ("factor", "function")
        if self.opens(before):
            inner = self.fenced()
            return self.scripts(_Piece("factor", _fence(token, inner), space, inner if token == "(" else ""))
        self.at += 1
        if kind == "number":
            return self.scripts(_Piece("factor", f"<mn>{token}</mn>", space))
        if kind == "name":
            return self.name(token, space, operand, named=before == "slash" or self.peek()[1] in ("/", "|"))
        if token == "/":
            return _Piece("slash", "<mo>/</mo>", space)
        if token == "?":
            return self.scripts(_Piece("factor", "<mi>?</mi>", space))
        written = escape(_MARKS.get(token, "·" if token == "." and operand and not self.peek()[0] else token))
        if token in ",;:":
            return _Piece("mark", f"<mo>{token}</mo>", space)
        if token in _RELATIONS or token in ("|", "||"):
            return _Piece("relation", f"<mo>{written}</mo>", space)
        infix = operand or (before == "word" and self.peek()[0])
        return _Piece("sign", f"<mo>{written}</mo>" if infix else f'<mo form="prefix">{written}</mo>', space)

    def name(self, token: str, space: bool, operand: bool, named: bool) -> _Piece:
        """A symbol with its scripts, a function, or a word; `named`: where only a symbol can stand."""
        following = self.peek()
        if token in _BIG and (following[1] == "_" or token in ("sum", "prod", "int")) and not self.word(following[1]):
            return self.big(token, space)
        if token == "sqrt":
            return self.scripts(_Piece("factor", f"<msqrt>{self.operand()}</msqrt>", space))
        if token == "abs" and following[1] == "(":
            return self.scripts(_Piece("factor", _fence("|", self.fenced()), space))
        if token == "in" and not (operand and (following[1] in ("{", "(", "[") or following[1][:1].isupper())):
            return _Piece("word", token, space)
        if token == "subset" and following[1] == "of":
            self.at += 1
        if token in _WORDS:
            return _Piece("relation", f"<mo>{_WORDS[token]}</mo>", space)
        scripted = following[1] in ("_", "^", "'", "(", "[") and not following[0]
        if self.word(token) and not named and not scripted:
            return _Piece("word", token, space)
        if token == "a" and self.word(following[1]) and following[1] not in ("and", "is", "or", "in"):
            return _Piece("word", token, space)
        piece = self.scripts(_Piece("factor", _symbol(token), space))
        space_after, after, _ = self.peek()
        applied = (after in ("(", "[") and (len(token) > 1 or token.isupper())) or token in _FUNCTIONS
        return _Piece("function", piece.mathml, space) if applied and not space_after else piece

    @staticmethod
    def word(token: str) -> bool:
        """Whether a token is a word of a sentence rather than a symbol."""
        if token in _GREEK or (token[:1] == "d" and token[1:] in _GREEK):
            return token == "epsilon"
        symbol = token in _FUNCTIONS or token in _WORDS or _LETTERS.fullmatch(token)
        return not symbol and re.fullmatch(r"[a-z]{2,}(-[a-z]+|'s)?", token) is not None

    def big(self, token: str, space: bool) -> _Piece:
        """A sum, product, integral, maximum or the like with what stands below and above it."""
        sign = f"<mo>{_BIG[token]}</mo>"
        scripts = {mark: self.script(primes=True) for mark in "_^" if self.taken(mark)}
        below, above = scripts.get("_"), scripts.get("^")
        if below and above:
            tag = "msubsup" if token == "int" else "munderover"
            sign = f"<{tag}>{sign}{below}{above}</{tag}>"
        elif below:
            sign = f"<munder>{sign}{below}</munder>"
        return _Piece("big", sign, space)

    def taken(self, mark: str) -> bool:
        """Takes a mark that follows without a space."""
        space, token, _ = self.peek()
        if space or token != mark:
            return False
        self.at += 1
        return True

    def scripts(self, base: _Piece) -> _Piece:
        """The base with the primes, accents, subscripts and superscripts that follow it."""
        body, below, above, primes = base.mathml, "", "", ""
        while True:
            space, token, _ = self.peek()
            after_space, after, _ = self.peek(1)
            loose = after_space or after in ("", ")", "]", "}", ",", ";", "_", "^", "|", "'")
            if space or token not in ("'", "_", "^", "~", "*"):
                break
            if token == "*" and not (loose and base.kind == "factor"):
                break
            self.at += 1
            if token == "'":
                primes += "′"
            elif token == "*":
                above = "<mo>*</mo>"
            elif token == "~" or (token == "^" and loose):
                body = f'<mover accent="true"><mrow>{body}</mrow><mo>{"~" if token == "~" else "^"}</mo></mover>'
            elif token == "_":
                below = self.script()
            else:
                above = self.script()
        if not (below or above or primes):
            return _Piece(base.kind, body, base.space, base.inner if body == base.mathml else "")
        above = f"{f'<mo>{primes}</mo>' if primes else ''}{above}"
        if below and above:
            body = f"<msubsup>{_row(body)}{below}{_row(above)}</msubsup>"
        else:
            tag = "msub" if below else "msup"
            body = f"<{tag}>{_row(body)}{below or _row(above)}</{tag}>"
        return _Piece(base.kind, body, base.space)

    def script(self, primes: bool = False) -> str:
        """What stands below or above: a bracket's content, or a sign, a symbol and its own scripts."""
        self.scripted += 1
        body = self.raised(primes)
        self.scripted -= 1
        return _row(body)

    def raised(self, primes: bool) -> str:
        """The content of `script`."""
        _, token, kind = self.peek()
        if token in ("{", "("):
            return self.fenced()
        if kind == "end":
            raise ValueError(f"{self.formula!r}: nothing is raised or lowered at its end")
        self.at += 1
        if token in ("-", "+-", "+"):
            return f'<mo form="prefix">{_MARKS.get(token, token)}</mo>{self.script()}'
        if kind == "number":
            return f"<mn>{token}</mn>"
        body = "<mi>∞</mi>" if token == "inf" else _symbol(token, index=True)
        if token in ("exp", "ln", "log") and self.peek()[1] == "(":
            return body + _fence("(", self.fenced())
        while primes and self.taken("'"):
            body += "<mo>′</mo>"
        if self.taken("_"):
            body = f"<msub>{_row(body)}{self.script()}</msub>"
        if kind == "name" and not self.peek()[0] and self.peek()[1] == "*" and self.peek(1)[0]:
            self.at += 1
            body = f"<msup>{_row(body)}<mo>*</mo></msup>"
        return body

    def operand(self) -> str:
        """What a root is taken of: a bracket's content or the next factor."""
        return self.fenced() if self.peek()[1] == "(" else self.piece("start").mathml

    def fenced(self) -> str:
        """What stands between the next token, a bracket, and the one that closes it."""
        _, token, _ = self.peek()
        self.at += 1
        # A half-open interval ends with the other bracket.
        closing = (")", "]") if token in ("(", "[") else (_PAIRS[token],)
        inner = self.row(closing)
        self.at += 1
        return inner


def _joined(pieces: list[_Piece]) -> str:
    """The pieces side by side; products and words with space between them."""
    parts = []
    for left, piece in zip([None, *pieces], pieces, strict=False):
        if left and piece.space and left.kind in _PRODUCT and piece.kind in _PRODUCT:
            parts.append('<mspace width="0.2em"/>')
        kinds = {left.kind, piece.kind} if left else set()
        if piece.space and "word" in kinds and kinds <= {*_BESIDE_WORDS}:
            parts.append('<mspace width="0.3em"/>')
        parts.append(_text(piece.mathml) if piece.kind == "word" else piece.mathml)
    return "".join(parts)


def _fractions(pieces: list[_Piece], tight: bool) -> list[_Piece]:
    """The pieces with the slashes that bind tightly, or all others, made fractions."""
    done: list[_Piece] = []
    left = list(pieces)
    while left:
        piece = left.pop(0)
        spaced = piece.space or (bool(left) and left[0].space)
        divides = done and left and done[-1].kind in _PRODUCT and left[0].kind in _PRODUCT
        if piece.kind != "slash" or spaced == tight or not divides:
            done.append(piece)
            continue
        above, below = _take_back(done, tight), _take(left, tight)
        done.append(_Piece("factor", f"<mfrac>{_bare(above)}{_bare(below)}</mfrac>", above[0].space))
    return done


def _take_back(done: list[_Piece], tight: bool) -> list[_Piece]:
    """Takes the dividend from the end: factors that touch, or the whole product."""
    taken: list[_Piece] = []
    while done and done[-1].kind in _PRODUCT:
        taken.insert(0, done.pop())
        if tight and taken[0].space:
            break
    return taken


def _take(left: list[_Piece], tight: bool) -> list[_Piece]:
    """Takes the divisor: one factor with the function before it, or the whole product."""
    taken: list[_Piece] = []
    while left and left[0].kind in _PRODUCT:
        taken.append(left.pop(0))
        if tight and taken[-1].kind == "factor":
            break
    return taken


def _bare(pieces: list[_Piece]) -> str:
    """The pieces as one element, without parentheses that the bar of a fraction replaces."""
    return _row((len(pieces) == 1 and pieces[0].inner) or _joined(pieces))


def _row(body: str) -> str:
    """The body as one element."""
    single = re.fullmatch("<(m[ino])[^<]*</m[ino]>", body)
    return body if single else f"<mrow>{body}</mrow>"


def _fence(opening: str, inner: str) -> str:
    left, right = (_WRITTEN.get(bracket, bracket) for bracket in (opening, _PAIRS[opening]))
    spaces = ' lspace="0" rspace="0"' if "|" in opening else ""
    return f'<mrow><mo form="prefix"{spaces}>{left}</mo>{inner}<mo form="postfix"{spaces}>{right}</mo></mrow>'


def _text(word: str) -> str:
    return f"<mtext>{escape(word)}</mtext>"


def _symbol(name: str, index: bool = False) -> str:
    """A symbol: a Greek or Latin letter, letters side by side, a number below, or a name in upright letters."""
    letters = name.rstrip("0123456789") or name
    digits = name[len(letters) :]
    if letters in _GREEK and not (index and letters == "xi"):
        body = f"<mi>{_GREEK[letters]}</mi>"
    elif len(letters) == 1:
        body = f"<mi>{escape(letters)}</mi>"
    elif letters[0] == "d" and letters[1:] in _GREEK:
        body = f"<mi>d</mi><mi>{_GREEK[letters[1:]]}</mi>"
    elif (_LETTERS.fullmatch(letters) and letters not in _FUNCTIONS) or (index and len(letters) == 2):
        body = "".join(f"<mi>{letter}</mi>" for letter in letters)
    else:
        body = f'<mi mathvariant="normal">{escape(letters)}</mi>'
    return f"<msub>{_row(body)}<mn>{digits}</mn></msub>" if digits else body

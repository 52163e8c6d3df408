"""C++ symbols as people write them: the Itanium ABI's names (``_ZN3c104cuda9SetDeviceEi``) in their original case.

Format: https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling. Read are nested names, templates, operators and the types of
parameters; a symbol with anything else comes back without its parameters, or not at all.
"""

from __future__ import annotations

_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short", "t": "unsigned short",
    "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long", "n": "__int128",
    "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double", "g": "__float128", "z": "...",
    "Dn": "decltype(nullptr)", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto",
}  # fmt: skip
_STANDARD = {
    "St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string", "Si": "std::istream", "So": "std::ostream",
    "Sd": "std::iostream",
}  # fmt: skip
_OPERATORS = {
    "nw": "new", "na": "new[]", "dl": "delete", "da": "delete[]", "ps": "+", "ng": "-", "ad": "&", "de": "*", "co": "~", "pl": "+",
    "mi": "-",
    "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "eq": "==",
    "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "cm": ",",
    "pt": "->",
    "cl": "()", "ix": "[]", "ls": "<<", "rs": ">>", "lS": "<<=", "rS": ">>=",
}  # fmt: skip
_LONGEST, _DEEPEST = 2000, 60


class _UnreadableError(Exception):
    """Something that is not read here."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.substitutions: list[str] = []
        self.arguments: list[str] = []
        self.depth = 0
        self.qualifiers = ""
        self.returns_nothing = False

    def peek(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def take(self, wanted: str) -> bool:
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    def name(self) -> tuple[str, bool]:
        """A name, and whether its last part is a template."""
        self.deeper()
        try:
            if self.take("N"):
                return self.nested()
            if self.take("Z"):
                raise _UnreadableError
            if self.peek() == "S" and self.peek(2) != "St":
                base = self.substitution()
                templated = self.peek() == "I"
                return (base + self.template_arguments() if templated else base), templated
            prefix = "std::" if self.take("St") else ""
            plain = prefix + self.unqualified("")
            if self.peek() == "I":
                self.substitutions.append(plain)
                return plain + self.template_arguments(), True
            return plain, False
        finally:
            self.depth -= 1

    def nested(self) -> tuple[str, bool]:
        while self.peek() in ("r", "V", "K"):
            self.qualifiers = " const" if self.peek() == "K" else self.qualifiers
            self.at += 1
        self.take("R") or self.take("O")
        found, templated = "", False
        while not self.take("E"):
            if self.peek() == "S" and self.peek(2) not in ("St",):
                found = self.substitution()
                templated = False
                continue
            if self.peek() == "T":
                found = self.parameter()
                self.substitutions.append(found)
                continue
            if self.peek() == "I":
                found, templated = found + self.template_arguments(), True
            else:
                part = "std" if self.take("St") else self.unqualified(found)
                found, templated = (f"{found}::{part}" if found else part), False
                if part == "std":
                    continue
            if self.peek() != "E":
                self.substitutions.append(found)
        if not found:
            raise _UnreadableError
        return found, templated

    def unqualified(self, scope: str) -> str:
        self.take("L")
        letter = self.peek()
        self.returns_nothing = letter in ("C", "D") or self.peek(2) == "cv"
        if letter.isdigit():
            found = self.source_name()
        elif letter in ("C", "D") and self.peek(2)[1:].isdigit():
            self.at += 2
            last = scope.partition("<")[0].rpartition("::")[2]
            found = last if letter == "C" else f"~{last}"
        elif self.take("cv"):
            found = f"operator {self.type()}"
        elif self.peek(2) in _OPERATORS:
            sign = _OPERATORS[self.peek(2)]
            self.at += 2
            found = f"operator {sign}" if sign[0].isalpha() else f"operator{sign}"
        else:
            raise _UnreadableError
        while self.take("B"):
            found += f"[abi:{self.source_name()}]"
        return found

    def source_name(self) -> str:
        length = self.number()
        found = self.text[self.at : self.at + length]
        if not length or len(found) != length:
            raise _UnreadableError
        self.at += length
        return "(anonymous namespace)" if found.startswith("_GLOBAL__N") else found

    def number(self) -> int:
        start = self.at
        while self.peek().isdigit():
            self.at += 1
        if self.at == start or self.at - start > 5:
            raise _UnreadableError
        return int(self.text[start : self.at])

    def substitution(self) -> str:
        standard = _STANDARD.get(self.peek(2))
        if standard is not None:
            self.at += 2
            return standard
        self.at += 1
        return self.listed(self.substitutions)

    def parameter(self) -> str:
        self.at += 1
        return self.listed(self.arguments)

    def listed(self, among: list[str]) -> str:
        """``_`` is the first, ``0_`` the second, and so on in base 36."""
        digits = ""
        while self.peek() and self.peek() != "_" and len(digits) < 4:
            digits += self.peek()
            self.at += 1
        if not self.take("_"):
            raise _UnreadableError
        try:
            return among[int(digits, 36) + 1 if digits else 0]
        except (IndexError, ValueError):
            raise _UnreadableError from None

    def template_arguments(self) -> str:
        self.deeper()
        self.at += 1
        nothing = self.returns_nothing
        found: list[str] = []
        while not self.take("E"):
            if self.take("J"):
                while not self.take("E"):
                    found.append(self.template_argument())
            else:
                found.append(self.template_argument())
        self.depth -= 1
        self.arguments, self.returns_nothing = found, nothing
        return f"<{', '.join(found)}{' ' if found and found[-1].endswith('>') else ''}>"

    def template_argument(self) -> str:
        if self.take("X"):
            found = self.parameter() if self.peek() == "T" else ""
            if not found or not self.take("E"):
                raise _UnreadableError
            return found
        if not self.take("L"):
            return self.type()
        if self.take("_Z"):
            found, _ = self.name()
            if not self.take("E"):
                raise _UnreadableError
            return f"&{found}"
        kind = self.type()
        sign = "-" if self.take("n") else ""
        start = self.at
        while self.peek() and self.peek() != "E":
            self.at += 1
        value = self.text[start : self.at]
        if not self.take("E") or not value.isdigit():
            raise _UnreadableError
        if kind == "bool":
            return "true" if value == "1" else "false"
        suffix = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll", "unsigned long long": "ull"}
        return f"{sign}{value}{suffix[kind]}" if kind in suffix else f"({kind}){sign}{value}"

    def type(self) -> str:
        self.deeper()
        try:
            return self._type()
        finally:
            self.depth -= 1

    def _type(self) -> str:
        for code, sign in (("P", "*"), ("R", "&"), ("O", "&&")):
            if self.take(code):
                inner = self.type()
                if "(" in inner and inner.endswith(")"):
                    head, _, tail = inner.partition(" (")
                    found = f"{head} ({sign})({tail}" if tail else inner + sign
                else:
                    found = inner + sign
                self.substitutions.append(found)
                return found
        if self.take("K"):
            found = f"{self.type()} const"
            self.substitutions.append(found)
            return found
        if self.take("F"):
            self.take("Y")
            result, parts = self.type(), []
            while not self.take("E"):
                parts.append(self.type())
            found = f"{result} ({', '.join(part for part in parts if part != 'void')})"
            self.substitutions.append(found)
            return found
        if self.take("A"):
            size = self.number() if self.peek().isdigit() else ""
            self.take("_")
            found = f"{self.type()} [{size}]"
            self.substitutions.append(found)
            return found
        if self.take("Dp"):
            return self.type()
        for code in (self.peek(2), self.peek()):
            if code in _BUILTIN:
                self.at += len(code)
                return _BUILTIN[code]
        if self.peek() == "T":
            found = self.parameter()
            self.substitutions.append(found)
            if self.peek() == "I":
                raise _UnreadableError
            return found
        if self.peek() == "S" and self.peek(2) != "St":
            found = self.substitution()
            if self.peek() == "I":
                found += self.template_arguments()
                self.substitutions.append(found)
            return found
        if not (self.peek().isdigit() or self.peek() in ("N", "S")):
            raise _UnreadableError
        arguments = self.arguments
        found, _ = self.name()
        self.arguments = arguments
        self.substitutions.append(found)
        return found

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _UnreadableError


def demangle(symbol: str) -> str | None:
    """A symbol as C++ writes it, in its own case; None for one that is not mangled, or that cannot be read."""
    text = symbol.partition("@")[0]
    if not text.startswith("_Z") or len(text) > _LONGEST or not text.isascii():
        return None
    reader = _Reader(text[2:])
    try:
        if reader.take("TV"):
            return f"vtable for {reader.type()}"
        if reader.take("TI"):
            return f"typeinfo for {reader.type()}"
        if reader.take("TS"):
            return f"typeinfo name for {reader.type()}"
        found, templated = reader.name()
        nothing = reader.returns_nothing
    except _UnreadableError:
        return None
    if reader.at == len(reader.text):
        return found
    try:
        # The type of what a template returns is part of its name; of other functions it is not.
        before = reader.at
        result = ""
        if templated and not nothing:
            result = reader.type() + " "
        parts = []
        while reader.at < len(reader.text):
            parts.append(reader.type())
    except _UnreadableError:
        return found if reader.at >= before else None
    return f"{result}{found}({', '.join(parts) if parts != ['void'] else ''}){reader.qualifiers}"
